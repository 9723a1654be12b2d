// Bills of materials (CycloneDX): a file for each public package, with all packages that it installs and the libraries in its
// built files.
//   node tools/sbom.mjs FOLDER
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundledLibraries, withBundled } from './release/bundled.mjs';
import { libraries } from './release/workspace.mjs';
import { packageManager, run } from './setup.mjs';

const folder = process.argv[2];
if (folder === undefined) {
  console.error('sbom: name a folder: node tools/sbom.mjs FOLDER');
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const filters = libraries().flatMap(({ manifest }) => ['--filter', manifest.name]);
const out = join(resolve(folder), '%s-%v.cdx.json');
const options = ['--prod', '--sbom-format', 'cyclonedx', '--sbom-spec-version', '1.6', '--split'];
run('npx', ['--yes', packageManager, ...filters, 'sbom', ...options, '--out', out], { quiet: true });
const bundled = bundledLibraries();
const files = readdirSync(folder).map((name) => join(folder, name));
for (const file of files) {
  const bill = withBundled(JSON.parse(readFileSync(file, 'utf8')), bundled);
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
}
const count = files.length;
console.log(`${count} bills of materials in ${folder}`);
process.exitCode = count < libraries().length ? 1 : 0;
