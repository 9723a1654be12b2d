// The libraries inside our built files, as the build lists them in dist/third-party-licenses.txt (tools/bundling).
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { libraries } from './workspace.mjs';

const separator = `\n${'-'.repeat(80)}\n\n`;
const heading = /^(\S+) (\S+) \(([^)\n]+)\)\n/;

/** `[{ name, version, license }]` of the text. @throws Error for a part without a heading */
export function readNotices(text) {
  return text.split(separator).map((part) => {
    const match = heading.exec(part);
    if (!match)
      throw new Error(`a licence's first line is not "name version (licence)": ${part.slice(0, 60)}`);
    const [, name, version, license] = match;
    return { name, version, license };
  });
}

/** `[{ owner, name, version, license }]` of all built packages. `owner`: the package of ours. @throws Error where nothing is built */
export function bundledLibraries(packages = libraries()) {
  const found = packages.flatMap(({ folder, manifest }) => {
    const built = JSON.stringify([manifest.main, manifest.bin]);
    if (!existsSync(join(folder, 'dist')) && built.includes('dist/'))
      throw new Error(`${manifest.name} is not built, so its bundled libraries are unknown: npm run build`);
    const file = join(folder, 'dist/third-party-licenses.txt');
    return existsSync(file)
      ? readNotices(readFileSync(file, 'utf8')).map((library) => ({ owner: manifest.name, ...library }))
      : [];
  });
  return found;
}

/** A bill of materials (CycloneDX) with the libraries that its package bundles. */
export function withBundled(bill, bundled) {
  const owner = bill.metadata.component;
  const fullName = owner.group ? `${owner.group}/${owner.name}` : owner.name;
  const components = bundled
    .filter((library) => library.owner === fullName)
    .map(({ name, version, license }) => {
      const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
      return {
        type: 'library',
        name,
        version,
        'bom-ref': purl,
        purl,
        licenses: [{ license: { id: license } }],
        properties: [{ name: 'quern:bundled', value: 'true' }],
      };
    });
  const own = (entry) => entry.ref === owner['bom-ref'];
  const dependencies = bill.dependencies.map((entry) =>
    own(entry)
      ? { ...entry, dependsOn: [...(entry.dependsOn ?? []), ...components.map((each) => each.purl)] }
      : entry,
  );
  return { ...bill, components: [...bill.components, ...components], dependencies };
}
