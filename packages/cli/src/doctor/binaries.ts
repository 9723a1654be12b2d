import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { type BinaryKind, binaryKind, isNewer } from './binary-kind.js';
import type { SystemReport } from './system.js';

/** Why a binary is looked at: a variable of the environment names it, it was built here, or a package brings it. */
type Origin = 'environment' | 'local build' | 'package';

/** A binary of a backend, and what speaks against it. */
export interface BinaryReport {
  readonly path: string;
  readonly origin: Origin;
  /** QUERN_CPU_BINARY, or the name of the package. */
  readonly from: string;
  readonly bytes?: number;
  readonly kind?: BinaryKind;
  /** This binary is the one that Node loaded. */
  readonly chosen: boolean;
  /** Why it cannot be loaded here. */
  readonly unfit?: string;
}

export interface BackendPackage {
  readonly name: string;
  readonly folder: string;
}

/** 'cpu' of '@quern/backend-cpu': as in the names of its variable and its binary. */
const shortName = (name: string): string => basename(name).replace(/^(quern-)?backend-/, '');

const variableOf = (name: string): string =>
  `QUERN_${shortName(name).toUpperCase().replace(/\W/g, '_')}_BINARY`;

type Candidate = Pick<BinaryReport, 'path' | 'origin' | 'from'>;

/** The places of a backend's binary, in the order of the loader. */
function candidates({ name, folder }: BackendPackage, platform: string, env: NodeJS.ProcessEnv): Candidate[] {
  const variable = variableOf(name);
  const forced = env[variable];
  if (forced) return [{ path: resolve(forced), origin: 'environment', from: variable }];
  const builds = filesIn(join(folder, 'build/Release')).map(
    (path): Candidate => ({ path, origin: 'local build', from: name }),
  );
  return [...builds, ...prebuilt(`${name}-${platform}`, folder)];
}

const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.node'))
        .map((file) => join(folder, file))
    : [];

function prebuilt(name: string, folder: string): Candidate[] {
  const require = createRequire(join(folder, 'package.json'));
  try {
    const path = require.resolve(name);
    return path.endsWith('.node') ? [{ path, origin: 'package', from: name }] : [];
  } catch {
    return [];
  }
}

/** The binaries of a backend that are there, or asked for. `loaded`: the files that Node loaded. */
export function binariesOf(
  backend: BackendPackage,
  { platform, libc }: Pick<SystemReport, 'platform' | 'libc'>,
  loaded: readonly string[],
  env: NodeJS.ProcessEnv,
): BinaryReport[] {
  return candidates(backend, platform, env).map((candidate): BinaryReport => {
    const chosen = loaded.includes(real(candidate.path));
    if (!existsSync(candidate.path)) return { ...candidate, chosen, unfit: 'there is no such file' };
    const bytes = statSync(candidate.path).size;
    try {
      const kind = binaryKind(candidate.path);
      const unfit = chosen ? undefined : unfitness(kind, platform, libc);
      return { ...candidate, bytes, kind, chosen, ...(unfit !== undefined && { unfit }) };
    } catch (error) {
      return { ...candidate, bytes, chosen, unfit: (error as Error).message };
    }
  });
}

export const real = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

/** Why a binary cannot be loaded on a platform ('linux-x64-gnu') with a C library ('glibc 2.36'). */
export function unfitness(kind: BinaryKind, platform: string, libc: string | undefined): string | undefined {
  if (kind.truncated) return 'it is damaged: the file ends too early';
  if (kind.platform === 'unknown')
    return 'it is damaged, or no native binary: its first bytes are not those of one';
  const here = platform.replace(/-(gnu|musl)$/, '');
  if (kind.platform !== here) return `it is a binary of ${kind.platform}, and this system is ${here}`;
  const own = libc?.split(' ')[0];
  if (kind.libc !== undefined && own !== undefined && kind.libc !== own)
    return `it is a binary for systems with ${kind.libc}, and this one has ${libc}`;
  const version = libc?.split(' ')[1];
  if (kind.glibc !== undefined && version !== undefined && isNewer(kind.glibc, version))
    return `it needs glibc ${kind.glibc}, and this system has ${libc}`;
  return undefined;
}

/** The command that brings a fitting binary of a backend. */
export function binaryHelp(backend: string, { origin, from }: Pick<BinaryReport, 'origin' | 'from'>): string {
  if (origin === 'environment') return `unset ${from}, or set it to the path of another binary`;
  if (origin === 'local build') return `npx ${basename(backend).replace(/^backend/, 'quern-backend')} build`;
  return `npm install --force ${from}; if node_modules came from another system: rm -rf node_modules && npm install`;
}

/** Where a backend has no binary at all. */
export const noBinaryHelp = (backend: string): string =>
  `npm install --include=optional ${backend}, or build it here: npx ${basename(backend).replace(/^backend/, 'quern-backend')} build`;
