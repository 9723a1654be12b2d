import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { here } from '../here.js';

/** What a package.json can say to Quern. Paths are relative to the package. */
export interface QuernField {
  /** Module that exports `createBackend`. */
  readonly backend?: string;
  /** false: the backend computes only where it is asked for by name; 'auto' does not load it. */
  readonly auto?: boolean;
  /** A model file, or a folder with one. */
  readonly model?: string;
}

interface Manifest {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly quern?: QuernField;
}

/** An installed package that declares something to Quern. */
export interface QuernPackage {
  readonly name: string;
  readonly folder: string;
  readonly quern: QuernField;
}

export function readManifest(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  } catch {
    return undefined;
  }
}

/** The nearest folder, from here upwards, that has a package.json. */
function nearestPackage(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (readManifest(folder)) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** What `act` gives, or undefined where there is no such file. */
function ifThere<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** The script that Node was started with: as it was named, where a link points (npm's bin folders hold links), and the file. */
function mainScript(): string[] {
  const [, named] = process.argv;
  if (!named) return [];
  const link = ifThere(() => resolve(dirname(named), readlinkSync(named)));
  const file = ifThere(() => realpathSync(named));
  return [named, link, file].filter((path) => path !== undefined);
}

/** The folder around the node_modules that a file lies in: the application's, or that of everything installed globally. */
function aroundNodeModules(file: string): string | undefined {
  const end = file.lastIndexOf(`${sep}node_modules${sep}`);
  return end < 0 ? undefined : file.slice(0, end) || sep;
}

/**
 * Folders that packages are looked for from: the package nearest to the one given, or else those nearest to the working
 * directory, to the main script and to this package, and where the main script is installed.
 */
export function applicationFolders(resolveFrom?: string): string[] {
  if (resolveFrom) return [nearestPackage(resolveFrom) ?? []].flat();
  const script = mainScript();
  const nearest = [process.cwd(), ...script.slice(-1).map(dirname), dirname(here)].map(nearestPackage);
  const folders = [...nearest, ...script.map(aroundNodeModules)];
  return [...new Set(folders.filter((folder) => folder !== undefined))];
}

/** The packages that an application depends on; where no package.json lists them, as in npm's global folder, all that are there. */
function packageNames(folder: string): string[] {
  const manifest = readManifest(folder);
  if (!manifest) return installedNames(join(folder, 'node_modules'));
  const { dependencies, optionalDependencies, devDependencies } = manifest;
  return Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
}

function installedNames(folder: string): string[] {
  const names = ifThere(() => readdirSync(folder)) ?? [];
  return names.flatMap((name) =>
    name.startsWith('@')
      ? (ifThere(() => readdirSync(join(folder, name))) ?? []).map((own) => `${name}/${own}`)
      : name,
  );
}

/** Where a dependency is installed, seen from a folder; its package.json need not be exported. */
function installedFolder(name: string, from: string): string | undefined {
  const places = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  return places.map((place) => join(place, name)).find((folder) => readManifest(folder) !== undefined);
}

/** The packages with a "quern" field that are found from the application's folders; of two with one name, the first. */
export function quernPackages(resolveFrom?: string): QuernPackage[] {
  const found = new Map<string, QuernPackage>();
  for (const application of applicationFolders(resolveFrom))
    for (const name of packageNames(application)) {
      if (found.has(name)) continue;
      const folder = installedFolder(name, application);
      const quern = folder && readManifest(folder)?.quern;
      if (folder && quern) found.set(name, { name, folder, quern });
    }
  return [...found.values()];
}
