import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

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

function readManifest(folder: string): Manifest | undefined {
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

/** The folder of the script that Node was started with. */
function mainScriptFolder(): string | undefined {
  try {
    return process.argv[1] && dirname(realpathSync(process.argv[1]));
  } catch {
    return undefined;
  }
}

/**
 * Folders whose package.json tells what the application depends on: the one given, or else those nearest to the
 * working directory, to the main script and to this package.
 */
export function applicationFolders(resolveFrom?: string): string[] {
  const starts = resolveFrom
    ? [resolveFrom]
    : [process.cwd(), mainScriptFolder(), dirname(fileURLToPath(import.meta.url))];
  const folders = starts.flatMap((start) => (start ? (nearestPackage(start) ?? []) : []));
  return [...new Set(folders)];
}

/** Where a dependency is installed, seen from a folder; its package.json need not be exported. */
function installedFolder(name: string, from: string): string | undefined {
  const places = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  return places.map((place) => join(place, name)).find((folder) => readManifest(folder) !== undefined);
}

/** The application's direct dependencies that have a "quern" field; of two with one name, the first. */
export function quernPackages(resolveFrom?: string): QuernPackage[] {
  const found = new Map<string, QuernPackage>();
  for (const application of applicationFolders(resolveFrom)) {
    const { dependencies, optionalDependencies, devDependencies } = readManifest(application)!;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies })) {
      if (found.has(name)) continue;
      const folder = installedFolder(name, application);
      const quern = folder && readManifest(folder)?.quern;
      if (folder && quern) found.set(name, { name, folder, quern });
    }
  }
  return [...found.values()];
}
