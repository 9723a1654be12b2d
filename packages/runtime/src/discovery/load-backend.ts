import { statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Backend, needContract } from '@quern/core';
import { messageOf, RuntimeError } from '../error.js';
import { type QuernPackage, readManifest } from './application.js';

/** What Quern passes to a package's `createBackend`: these, and the caller's `backendOptions`. */
export interface CreateBackendOptions {
  /** Threads to compute with; the backend chooses when absent. */
  readonly threads?: number;
  /** Instruction set, for a backend that knows several; the backend chooses when absent. */
  readonly isa?: string;
  /** Options that are the backend's own. */
  readonly [option: string]: unknown;
}

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

interface BackendModule {
  readonly createBackend?: (options: CreateBackendOptions) => Promise<Backend>;
}

/** Loads the backend that a package declares. Whatever goes wrong is the candidate's error. */
export async function loadBackend(
  { name, folder, quern }: QuernPackage,
  options: CreateBackendOptions,
): Promise<BackendCandidate> {
  try {
    const module: BackendModule & { readonly default?: BackendModule } = await import(
      pathToFileURL(join(folder, quern.backend!)).href
    );
    const createBackend = module.createBackend ?? module.default?.createBackend; // of CommonJS
    if (typeof createBackend !== 'function')
      return { package: name, error: `${quern.backend} does not export createBackend` };
    return fitting(name, await createBackend(options));
  } catch (cause) {
    return { package: name, error: messageOf(cause), ...codeOf(cause) };
  }
}

/** Throws WRONG_CONTRACT for a backend that this runtime cannot use. */
function fitting(name: string, backend: Backend): LoadedBackend {
  try {
    needContract(backend, name);
  } catch (error) {
    backend.dispose();
    throw error;
  }
  return { package: name, name: backend.name, backend };
}

const codeOf = (cause: unknown) =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? { code: cause.code } : {};

/** Whether a backend is named by where it lies: './folder', '/a/module.js', 'file:///…'. */
export const isBackendPath = (name: string): boolean =>
  /^\.{1,2}([\\/]|$)|^file:/.test(name) || isAbsolute(name);

/**
 * The package in a folder, or a module as if it were one. Relative to the working directory.
 * @throws RuntimeError BACKEND_NOT_FOUND
 */
export function packageAt(path: string): QuernPackage {
  const place = path.startsWith('file:') ? fileURLToPath(path) : resolve(path);
  const status = statSync(place, { throwIfNoEntry: false });
  const missing = (what: string) =>
    new RuntimeError('BACKEND_NOT_FOUND', `there is no backend at ${place}: ${what}`);
  if (!status) throw missing('there is no such file or folder');
  if (!status.isDirectory())
    return { name: place, folder: dirname(place), quern: { backend: basename(place) } };
  const { name = place, quern } = readManifest(place) ?? {};
  if (typeof quern?.backend === 'string') return { name, folder: place, quern };
  throw missing('its package.json must say where, as in "quern": {"backend": "./dist/index.js"}');
}
