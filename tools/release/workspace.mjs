// The packages of this workspace, from their package.json files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';

const foldersOf = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => join(folder, name))
    : [];

const read = (folder) => ({
  folder,
  manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
});

const isPublic = ({ manifest }) => !manifest.private;

/** `{ folder, manifest }` of each public package, by name, without platform packages. */
export const libraries = (from = root) =>
  foldersOf(join(from, 'packages'))
    .map(read)
    .filter(isPublic)
    .sort((a, b) => a.manifest.name.localeCompare(b.manifest.name));

/** The same of the platform packages: a package.json and a binary in packages/NAME/npm/PLATFORM. */
export const platformPackages = (from = root) =>
  libraries(from).flatMap(({ folder }) => foldersOf(join(folder, 'npm')).map(read));

/** The packages of ours that a package needs installed. */
const neededBy = ({ dependencies, peerDependencies, optionalDependencies }) =>
  Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies });

/**
 * Packages with every package before those that need it, so that a publication that stops halfway leaves only packages
 * that can be installed.
 * @throws Error for packages that need each other
 */
export function inOrder(packages) {
  const [ordered, waiting] = [[], new Map(packages.map((each) => [each.manifest.name, each]))];
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter(
      ({ manifest }) => !neededBy(manifest).some((name) => name !== manifest.name && waiting.has(name)),
    );
    if (ready.length === 0)
      throw new Error(
        `these packages need each other, so none can be published first: ${[...waiting.keys()].join(', ')}`,
      );
    for (const each of ready) waiting.delete(each.manifest.name);
    ordered.push(...ready);
  }
  return ordered;
}

/** Entry points with declarations: `{ name: 'index', path: 'dist/index.d.ts' }`. */
export const typedEntries = ({ exports = {} }) =>
  Object.entries(exports)
    .filter(([, target]) => target?.import?.types)
    .map(([key, target]) => ({
      name: key === '.' ? 'index' : key.slice(2).replaceAll('/', '-'),
      path: target.import.types,
    }));
