import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Finding, Findings } from './finding.js';
import { textAt } from './read-text.js';

/** An installed package of Quern, or one that plugs into it. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
}

interface PackageTree {
  readonly packages: readonly InstalledPackage[];
  /** '@quern/core of quern': dependencies that are not there. */
  readonly missing: readonly string[];
}

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const manifestIn = (folder: string): Manifest => {
  try {
    return JSON.parse(textAt(join(folder, 'package.json')) ?? '{}') as Manifest;
  } catch {
    return {};
  }
};

const isOwn = (name: string): boolean => name.startsWith('@quern/');

/** Names of the packages of Quern that a package needs. Those of binaries are checked with the binaries. */
function needs({ dependencies, peerDependencies, peerDependenciesMeta }: Manifest): string[] {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...new Set([...Object.keys(dependencies ?? {}), ...peers])].filter(isOwn);
}

/** The folder of a package, as a program in `from` finds it. */
export function folderOf(name: string, from: string): string | undefined {
  try {
    return dirname(realpathSync(createRequire(join(from, 'package.json')).resolve(`${name}/package.json`)));
  } catch {
    return undefined;
  }
}

/** The packages in `roots`, and those of Quern that they need, each copy once. */
export function packageTree(roots: readonly string[]): PackageTree {
  const packages = new Map<string, InstalledPackage>();
  const missing = new Set<string>();
  const visit = (folder: string): void => {
    if (packages.has(folder)) return;
    const manifest = manifestIn(folder);
    const { name = folder, version = 'unknown' } = manifest;
    packages.set(folder, { name, version, folder });
    for (const each of needs(manifest)) {
      const found = folderOf(each, folder);
      if (found === undefined) missing.add(`${each} of ${name}`);
      else visit(found);
    }
  };
  for (const root of roots) visit(realpathSync(root));
  const sorted = [...packages.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { packages: sorted, missing: [...missing] };
}

/** Names of which several versions are installed, with them. */
function severalVersions(packages: readonly InstalledPackage[]): [name: string, versions: string[]][] {
  const versions = new Map<string, Set<string>>();
  for (const { name, version } of packages)
    versions.set(name, (versions.get(name) ?? new Set()).add(version));
  return [...versions].filter(([, set]) => set.size > 1).map(([name, set]) => [name, [...set].sort()]);
}

export function packageFindings({ packages, missing }: PackageTree): Findings {
  const apart = severalVersions(packages).map(
    ([name, versions]): Finding => ({
      what: `several versions of ${name} are installed: ${versions.join(', ')}`,
      help: `npm ls ${name} shows who needs which; npm install quern@latest ${name}@latest, and each @quern package of yours`,
    }),
  );
  const absent = missing.map(
    (each): Finding => ({
      what: `the package ${each} is not installed`,
      help: `npm install ${each.split(' ')[0]}`,
    }),
  );
  return { faults: [...apart, ...absent], notes: [] };
}
