import { type Backend, needContract, pickOptions, showValue } from '@quern/core';
import {
  backendFailed,
  type FindBackendsOptions,
  findBackend,
  findBackends,
  goingOn,
  howBundled,
  refusedChoice,
  showCandidates,
} from '../discovery/find-backends.js';
import type { BackendCandidate, FailedBackend, LoadedBackend } from '../discovery/load-backend.js';
import { RuntimeError } from '../error.js';
import { giveNotice } from '../notice.js';
import { showBytes } from '../planner/memory.js';
import type { BackendChoice, ResolvedLoadOptions } from './load-options.js';

/** The caller's options of the backend. */
export interface BackendOptions
  extends Pick<ResolvedLoadOptions, 'threads' | 'precision' | 'backendOptions' | 'resolveFrom' | 'onNotice'> {
  readonly backend: BackendChoice;
}

const searchOf = (options: BackendOptions): FindBackendsOptions =>
  pickOptions(options, ['threads', 'precision', 'backendOptions', 'resolveFrom']);

const hasLoaded = (candidate: BackendCandidate): candidate is LoadedBackend =>
  candidate.backend !== undefined;
const hasFailed = (candidate: BackendCandidate): candidate is FailedBackend => !hasLoaded(candidate);

/**
 * `backends`: allowed by the options, best first. `missing`: notices for the application about backends that did not
 * load.
 */
export interface Allowed {
  readonly backends: readonly Backend[];
  readonly missing: readonly string[];
}

/**
 * Every installed backend that loads and that 'auto' may choose. Throws where a backend refuses the caller's choice of
 * threads, instruction set or precision: no other backend takes its place.
 * @throws RuntimeError NO_BACKEND, BACKEND_FAILED
 */
async function installed(options: BackendOptions): Promise<Allowed> {
  const candidates = await findBackends({ ...searchOf(options), automatic: true });
  const failed = candidates.filter(hasFailed);
  const backends = candidates.filter(hasLoaded).map(({ backend }) => backend);
  const refused = failed.find((candidate) => refusedChoice(candidate, options));
  if (refused) {
    for (const backend of backends) backend.dispose();
    throw backendFailed(refused);
  }
  if (candidates.length === 0) throw await noBackend(options.resolveFrom);
  if (backends.length === 0) throw backendFailed(...failed);
  const left = backends.map(({ name }) => `'${name}'`).join(' or ');
  const missing = failed.filter(({ noDevice }) => !noDevice).map((each) => goingOn(each, left));
  return { backends, missing };
}

/** The error NO_BACKEND. Loads the backends that 'auto' never chooses, only to read their names. */
async function noBackend(resolveFrom: string | undefined): Promise<RuntimeError> {
  const seen = await findBackends({ resolveFrom });
  const names = seen.filter(hasLoaded).map(({ backend, name }) => {
    backend.dispose();
    return `backend: '${name}'`;
  });
  const onRequest = names.length > 0 ? `. Only chosen by name: ${names.join(', ')}` : '';
  return new RuntimeError(
    'NO_BACKEND',
    `there is no backend to compute with: ${showCandidates(seen, resolveFrom)}${onRequest}. ` +
      `To add the usual one: npm install @quern/backend-cpu. ${howBundled('cpu')}`,
  );
}

/** The caller's instance. @throws BackendError WRONG_CONTRACT; RuntimeError BAD_OPTION */
function given(backend: Backend, { threads, precision, backendOptions }: BackendOptions): Backend {
  needContract(backend);
  const late = Object.entries({ threads, precision, backendOptions }).find(
    ([, value]) => value !== undefined,
  );
  if (late)
    throw new RuntimeError(
      'BAD_OPTION',
      `${late[0]} ${showValue(late[1])}: only for a backend given by name. This instance exists already: give ${late[0]} to its createBackend`,
    );
  return backend;
}

/** @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, BAD_OPTION */
export async function allowed(options: BackendOptions): Promise<Allowed> {
  if (typeof options.backend !== 'string')
    return { backends: [given(options.backend, options)], missing: [] };
  if (options.backend === 'auto') return installed(options);
  const { backend } = await findBackend(options.backend, searchOf(options));
  return { backends: [backend], missing: [] };
}

/**
 * Finds the allowed backends, best first, and takes the one that `choose` names. Disposes the others; on failure, all
 * backends loaded here. Gives a notice where a better backend exists but cannot be used.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, BAD_OPTION
 */
export async function takeBackend<T>(
  options: BackendOptions,
  choose: (backends: readonly Backend[], missing: readonly string[]) => { readonly backend: Backend } & T,
): Promise<{ readonly backend: Backend; readonly owned: boolean } & T> {
  const { backends, missing } = await allowed(options);
  const owned = typeof options.backend === 'string';
  let chosen: Backend | undefined;
  try {
    const choice = choose(backends, missing);
    for (const text of [...missing, ...passedOver(backends, choice.backend)])
      giveNotice(options.onNotice, text);
    chosen = choice.backend;
    return { ...choice, owned };
  } finally {
    if (owned) for (const backend of backends) if (backend !== chosen) backend.dispose();
  }
}

/** The notice where the best backend has too little memory. */
export const passedOver = ([best]: readonly Backend[], chosen: Backend): string[] =>
  best === chosen || !best
    ? []
    : [
        `'${best.name}' has ${showBytes(best.freeMemory())} free, too little for this model: ` +
          `going on with '${chosen.name}', which may be slower`,
      ];

/** The first backend with free memory ≥ `needed(backend)` bytes. @throws RuntimeError MODEL_TOO_LARGE */
export function withRoom(backends: readonly Backend[], needed: (backend: Backend) => number): Backend {
  const fitting = backends.find((backend) => needed(backend) <= backend.freeMemory());
  if (fitting) return fitting;
  const [best] = backends;
  throw new RuntimeError(
    'MODEL_TOO_LARGE',
    `the model is too large: weights and activations take ${showBytes(needed(best!))}, but ` +
      `'${best!.name}' has ${showBytes(best!.freeMemory())} free`,
  );
}
