// Writes docs/packages.md: every package that is published, in the order of publication. --check: writes nothing, fails if the page is stale.
import { relative } from 'node:path';
import { table, writePage } from './release/page.mjs';
import { inOrder, libraries, platformPackages } from './release/workspace.mjs';
import { root } from './setup.mjs';

const ours = new Set([...libraries(), ...platformPackages()].map(({ manifest }) => manifest.name));
const code = (text) => `\`${text}\``;

/** Packages of ours that a package needs; platform packages are in the table below. */
function needs({ dependencies = {}, peerDependencies = {} }) {
  const names = [...Object.keys(dependencies), ...Object.keys(peerDependencies)];
  return names
    .filter((name) => ours.has(name))
    .map(code)
    .join(', ');
}

const row = ({ folder, manifest }) => [
  `[${manifest.name}](../${relative(root, folder)})`,
  manifest.description,
  needs(manifest),
];

const platformRow = ({ folder, manifest: { name, os, cpu, libc = [] } }) => [
  name,
  [...os, ...cpu, ...libc].join(' '),
  code(relative(root, folder)),
];

writePage(
  'docs/packages.md',
  'tools/generate-packages-doc.mjs',
  `# Packages

${libraries().length} packages and ${platformPackages().length} platform packages are published. [How](releasing.md).

## Packages

In the order of publication: a package comes after those it needs.

${table(['package', 'what it is', 'needs'], inOrder(libraries()).map(row))}

## Platform packages

Each is a package.json and a binary, an optional dependency of its package, and has the same version. They are published first.

${table(['platform package', 'installed on', 'folder'], platformPackages().map(platformRow))}`,
);
