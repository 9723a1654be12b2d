import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { checkArgument, rules } from '@quern/core';
import { badArgument } from '../error.js';
import { here } from '../here.js';

/** The "quern" field of a package.json. Paths are relative to the package. */
export interface QuernField {
  /** Module that exports `createBackend`. */
  readonly backend?: string;
  /** Module that exports `architectures`, a list for `registerArchitecture` of @quern/models. */
  readonly architectures?: string;
  /** false: 'auto' does not load this backend; it must be asked for by name. */
  readonly auto?: boolean;
  /** A model file, or a folder with one. */
  readonly model?: string;
}

interface Manifest {
  readonly name?: string;
  readonly type?: string;
  readonly exports?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly quern?: QuernField;
}

/** An installed package with a "quern" field. */
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

/** The nearest folder with a package.json, from `from` upwards. */
function nearestPackage(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (readManifest(folder)) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** The result of `act`, or undefined where the file does not exist. */
function ifThere<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/**
 * Paths of the script that Node was started with: as given, the target of a link (npm's bin folders hold links), and
 * the real file.
 */
function mainScript(): string[] {
  const [, named] = process.argv;
  if (!named) return [];
  const link = ifThere(() => resolve(dirname(named), readlinkSync(named)));
  const file = ifThere(() => realpathSync(named));
  return [named, link, file].filter((path) => path !== undefined);
}

/** The folder that contains the file's node_modules: the application, or the folder of global installations. */
function aroundNodeModules(file: string): string | undefined {
  const end = file.lastIndexOf(`${sep}node_modules${sep}`);
  return end < 0 ? undefined : file.slice(0, end) || sep;
}

/**
 * Folders where the search for packages starts: the package nearest to `resolveFrom`. Without it: the packages nearest
 * to the working directory, to the main script and to this package, and the folders around the main script's
 * node_modules.
 */
export function applicationFolders(resolveFrom?: string): string[] {
  if (resolveFrom) return [nearestPackage(resolveFrom) ?? []].flat();
  const script = mainScript();
  const nearest = [process.cwd(), ...script.slice(-1).map(dirname), dirname(here)].map(nearestPackage);
  const folders = [...nearest, ...script.map(aroundNodeModules)];
  return [...new Set(folders.filter((folder) => folder !== undefined))];
}

/** The dependencies of an application. Without a package.json, as in npm's global folder: all installed packages. */
function packageNames(folder: string, manifest: Manifest | undefined): string[] {
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

/** The package in a folder, if it has a "quern" field. */
function packageIn(folder: string, name: string | undefined, manifest: Manifest | undefined): QuernPackage[] {
  return name !== undefined && manifest?.quern ? [{ name, folder, quern: manifest.quern }] : [];
}

/** The folders in which Node looks for a package, seen from a folder: its node_modules, and those above. */
const placesFrom = (folder: string): readonly string[] =>
  module.createRequire(join(folder, 'package.json')).resolve.paths('any-package') ?? [];

/** An installed dependency, seen from a folder. Does not require the package to export its package.json. */
function dependency(name: string, from: string, places: readonly string[]): QuernPackage[] {
  for (const place of places) {
    const manifest = readManifest(join(place, name));
    if (manifest) return packageIn(join(place, name), name, manifest);
  }
  const folder = plugAndPlayFolder(name, from);
  return folder === undefined ? [] : packageIn(folder, name, readManifest(folder));
}

/** Part of the API of Yarn's Plug'n'Play, which has no node_modules. */
interface PlugAndPlay {
  resolveToUnqualified(name: string, from: string): string | null;
}

function plugAndPlayFolder(name: string, from: string): string | undefined {
  if (!process.versions.pnp) return undefined;
  const find: ((from: string) => PlugAndPlay | null) | undefined = Reflect.get(module, 'findPnpApi');
  const issuer = join(from, sep);
  return ifThere(() => find?.(issuer)?.resolveToUnqualified(name, issuer) ?? undefined);
}

/**
 * The packages with a "quern" field, found from the application's folders: the application itself, which an author tries in its own
 * folder, and its dependencies. Of two packages with one name, the first.
 * @param resolveFrom folder: its nearest package.json is the application. Default: the application's folders
 * @throws RuntimeError BAD_ARGUMENT
 */
export function quernPackages(resolveFrom?: string): QuernPackage[] {
  if (resolveFrom !== undefined)
    checkArgument('quernPackages', 'resolveFrom', resolveFrom, rules.text, badArgument);
  const found = new Map<string, QuernPackage>();
  for (const application of applicationFolders(resolveFrom)) {
    const manifest = readManifest(application);
    for (const own of packageIn(application, manifest?.name, manifest))
      if (!found.has(own.name)) found.set(own.name, own);
    const places = placesFrom(application);
    for (const name of packageNames(application, manifest))
      if (!found.has(name)) for (const other of dependency(name, application, places)) found.set(name, other);
  }
  return [...found.values()];
}
