// Writes the package.json of every platform package, and the optional dependencies on them: `node tools/platforms.mjs --packages`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';
import { addonFile, addons, partsOf } from './platforms.mjs';

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** The package.json of a platform package; version, engines and licence are those of its package. */
function manifestOf({ name, version, license, repository, engines }, folder, platform) {
  const { os, cpu, libc } = partsOf(platform);
  const file = addonFile(folder);
  return {
    name: `${name}-${platform}`,
    version,
    license,
    description: `Prebuilt binary of ${name} for ${platform}.`,
    repository: { ...repository, directory: `packages/${folder}/npm/${platform}` },
    engines,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    main: file,
    files: [file],
    publishConfig: { access: 'public' },
    scripts: { prepublishOnly: 'node ../../../../tools/check-binary.mjs' },
  };
}

/** [path, text] of every package.json that depends on the table of platforms. */
export function platformFiles() {
  return Object.entries(addons).flatMap(([folder, names]) => {
    const path = join(root, 'packages', folder, 'package.json');
    const manifest = JSON.parse(readFileSync(path, 'utf8'));
    const optionalDependencies = Object.fromEntries(
      names.toSorted().map((platform) => [`${manifest.name}-${platform}`, 'workspace:*']),
    );
    return [
      [path, json({ ...manifest, optionalDependencies })],
      ...names.map((platform) => [
        join(root, 'packages', folder, 'npm', platform, 'package.json'),
        json(manifestOf(manifest, folder, platform)),
      ]),
    ];
  });
}

export function writePlatformFiles() {
  for (const [path, text] of platformFiles()) {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }
}
