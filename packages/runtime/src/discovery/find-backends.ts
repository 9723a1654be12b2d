import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Backend, checkArgument, checkOptions, rules, type Schema } from '@quern/core';
import { badArgument, badOption, messageOf, RuntimeError } from '../error.js';
import { applicationFolders, type QuernPackage, quernPackages } from './application.js';

/** What Quern passes to a package's `createBackend`. */
export interface CreateBackendOptions {
  /** Threads to compute with; the backend chooses when absent. */
  readonly threads?: number | undefined;
  /** Instruction set, for a backend that knows several; the backend chooses when absent. */
  readonly isa?: string | undefined;
}

export interface FindBackendsOptions extends CreateBackendOptions {
  /** A folder: the nearest package.json from there upwards lists the packages that are looked at. */
  readonly resolveFrom?: string | undefined;
}

/** More is a slip: no machine has as many. */
const mostThreads = 1024;

/** Of each option: what it must be, and its default. */
export const createBackendSchema = {
  threads: {
    ...rules.whole(1, mostThreads),
    about: 'threads to compute with',
    absent: 'the backend chooses',
  },
  isa: {
    ...rules.text,
    about: 'instruction set, for a backend that knows several',
    absent: 'the backend chooses',
  },
} as const satisfies Schema<CreateBackendOptions>;

export const findBackendsSchema = {
  ...createBackendSchema,
  resolveFrom: {
    ...rules.text,
    about: 'folder whose nearest package.json lists the packages to look for backends and models in',
    absent: "the application's",
  },
} as const satisfies Schema<FindBackendsOptions>;

/** A package that declares a backend, and what came of loading it. */
export type BackendCandidate =
  | { readonly package: string; readonly name: string; readonly backend: Backend; readonly error?: never }
  | FailedBackend;

/** A package whose backend does not load: the message of what it threw, and its code where it has one. */
export interface FailedBackend {
  readonly package: string;
  readonly error: string;
  readonly code?: string;
  readonly backend?: never;
}

/** A candidate that loaded. */
export type LoadedBackend = Extract<BackendCandidate, { readonly backend: Backend }>;

async function load(
  { name, folder, quern }: QuernPackage,
  options: CreateBackendOptions,
): Promise<BackendCandidate> {
  try {
    const module: { createBackend?: (options: CreateBackendOptions) => Promise<Backend> } = await import(
      pathToFileURL(join(folder, quern.backend!)).href
    );
    if (typeof module.createBackend !== 'function')
      return { package: name, error: `${quern.backend} does not export createBackend` };
    const backend = await module.createBackend(options);
    return { package: name, name: backend.name, backend };
  } catch (cause) {
    return { package: name, error: messageOf(cause), ...codeOf(cause) };
  }
}

const codeOf = (cause: unknown) =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? { code: cause.code } : {};

const chosenOf = ({ threads, isa }: CreateBackendOptions): CreateBackendOptions => ({
  ...(threads !== undefined && { threads }),
  ...(isa !== undefined && { isa }),
});

const declared = (resolveFrom: string | undefined) =>
  quernPackages(resolveFrom).filter(({ quern }) => typeof quern.backend === 'string');

/** Best first: by measured arithmetic, then by measured bandwidth; those that failed last. */
function rank(a: BackendCandidate, b: BackendCandidate): number {
  if (!a.backend || !b.backend) return Number(!a.backend) - Number(!b.backend);
  const [p, q] = [a.backend.profile, b.backend.profile];
  return q.flops - p.flops || q.readBandwidth - p.readBandwidth;
}

/**
 * Loads every backend that the application's dependencies declare ("quern": {"backend": "./dist/index.js"} in their
 * package.json), best first. The caller disposes those it does not use.
 * @throws RuntimeError BAD_OPTION
 */
export async function findBackends(options: FindBackendsOptions = {}): Promise<BackendCandidate[]> {
  checkOptions('findBackends', options, findBackendsSchema, badOption);
  const candidates: BackendCandidate[] = [];
  for (const found of declared(options.resolveFrom)) candidates.push(await load(found, chosenOf(options)));
  return candidates.sort(rank);
}

/** A package may be asked for by its own name, or by its backend's. */
const isLikely = (packageName: string, name: string) =>
  packageName === name || packageName.endsWith(`backend-${name}`);

/** Whether a backend refused what the caller chose for it, rather than the machine it found. */
export function refusedChoice(
  { package: name, code }: FailedBackend,
  { threads, isa }: CreateBackendOptions,
): boolean {
  if (code === 'BAD_ARGUMENT' && threads !== undefined) return true;
  return Boolean(isa ?? process.env.QUERN_CPU_ISA) && isLikely(name, 'cpu') && code === 'UNSUPPORTED';
}

export function backendFailed({ package: name, error, code }: FailedBackend): RuntimeError {
  const outcome = code === 'BAD_ARGUMENT' ? 'refuses what is asked of it' : 'does not load';
  return new RuntimeError('BACKEND_FAILED', `${name} is installed but ${outcome}: ${error}`);
}

function needBackendName(name: string): void {
  if (/^(@[\w.-]+\/)?[\w.-]+$/.test(name)) return;
  throw new RuntimeError(
    'BAD_OPTION',
    `backend is '${name}'; it must be 'auto', the name of a backend such as 'cpu', or of its package`,
  );
}

/**
 * The installed backend of this name, or of this package. Packages whose name tells are tried first.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, BAD_OPTION, BAD_ARGUMENT
 */
export async function findBackend(name: string, options: FindBackendsOptions = {}): Promise<LoadedBackend> {
  checkArgument('findBackend', 'name', name, rules.text, badArgument);
  checkOptions('findBackend', options, findBackendsSchema, badOption);
  needBackendName(name);
  const packages = declared(options.resolveFrom);
  const likely = packages.filter((found) => isLikely(found.name, name));
  const seen: BackendCandidate[] = [];
  for (const found of [...likely, ...packages.filter((other) => !likely.includes(other))]) {
    const candidate = await load(found, chosenOf(options));
    if (candidate.backend && (candidate.name === name || candidate.package === name)) return candidate;
    candidate.backend?.dispose();
    if (!candidate.backend && isLikely(found.name, name)) throw backendFailed(candidate);
    seen.push(candidate);
  }
  throw new RuntimeError('BACKEND_NOT_FOUND', notFound(name, seen, options.resolveFrom));
}

function notFound(name: string, seen: readonly BackendCandidate[], resolveFrom: string | undefined): string {
  const install = `npm install ${name.includes('/') ? name : `@quern/backend-${name}`}`;
  return `there is no backend '${name}': ${showCandidates(seen, resolveFrom)}. To add it: ${install}`;
}

/** What was found, for messages. */
export function showCandidates(seen: readonly BackendCandidate[], resolveFrom: string | undefined): string {
  const folders = applicationFolders(resolveFrom).join(', ') || (resolveFrom ?? process.cwd());
  if (seen.length === 0) return `no package in the dependencies of ${folders} declares a backend`;
  const each = seen.map((candidate) =>
    candidate.backend
      ? `${candidate.name} (${candidate.package})`
      : `${candidate.package}: ${candidate.error}`,
  );
  return `the dependencies of ${folders} give ${each.join('; ')}`;
}
