import { type Backend, type BackendPlan, needKvDtype, pickOptions } from '@quern/core';
import type { ModelFile } from '@quern/models';
import { describeModel } from '@quern/models';
import {
  type BackendCandidate,
  backendFailed,
  type FailedBackend,
  type FindBackendsOptions,
  findBackend,
  findBackends,
  type LoadedBackend,
  refusedChoice,
  showCandidates,
} from '../discovery/find-backends.js';
import { RuntimeError } from '../error.js';
import { showBytes } from '../planner/memory.js';
import { type PlanRequest, planBackends } from '../planner/plan-backends.js';
import { plannerDevice } from '../planner/planner-device.js';
import type { ResolvedLoadOptions } from './load-options.js';

/** A backend and the plan for a model on it. */
export interface ChosenBackend {
  readonly backend: Backend;
  /** Loaded here, and so disposed with the model. */
  readonly owned: boolean;
  readonly plan: BackendPlan;
}

/** What the caller says of the backend. */
export type BackendOptions = Pick<ResolvedLoadOptions, 'backend' | 'threads' | 'resolveFrom' | 'onNotice'>;

const searchOf = (options: BackendOptions): FindBackendsOptions =>
  pickOptions(options, ['threads', 'resolveFrom']);

const hasLoaded = (candidate: BackendCandidate): candidate is LoadedBackend =>
  candidate.backend !== undefined;
const hasFailed = (candidate: BackendCandidate): candidate is FailedBackend => !hasLoaded(candidate);

/**
 * Every installed backend that loads. Where one refuses what the caller chose for it, no other takes its place.
 * @throws RuntimeError NO_BACKEND, BACKEND_FAILED
 */
async function installed(options: BackendOptions): Promise<Backend[]> {
  const candidates = await findBackends(searchOf(options));
  const failed = candidates.filter(hasFailed);
  const backends = candidates.filter(hasLoaded).map(({ backend }) => backend);
  const refused = failed.find((candidate) => refusedChoice(candidate, options));
  if (refused) {
    for (const backend of backends) backend.dispose();
    throw backendFailed(refused);
  }
  if (backends.length === 0) throw noBackend(candidates, options.resolveFrom);
  const left = backends.map(({ name }) => `'${name}'`).join(' or ');
  for (const { package: name, error } of failed)
    options.onNotice?.(
      `the backend of ${name} does not load: ${error}. Going on with ${left}, which may be slower`,
    );
  return backends;
}

function noBackend(seen: readonly BackendCandidate[], resolveFrom: string | undefined): RuntimeError {
  const usual = '@quern/backend-cpu';
  const advice = seen.some(({ package: name }) => name === usual) ? '' : `. To add one: npm install ${usual}`;
  const found = showCandidates(seen, resolveFrom);
  return new RuntimeError('NO_BACKEND', `there is no backend to compute with: ${found}${advice}`);
}

async function candidatesFor(options: BackendOptions): Promise<Backend[]> {
  if (typeof options.backend !== 'string') return [options.backend];
  if (options.backend === 'auto') return installed(options);
  return [(await findBackend(options.backend, searchOf(options))).backend];
}

/**
 * Finds the backends that the options allow, best first, and takes the one that `choose` names; the others are disposed, on
 * failure all that were loaded here.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, BAD_OPTION
 */
export async function takeBackend<T>(
  options: BackendOptions,
  choose: (backends: readonly Backend[]) => { readonly backend: Backend } & T,
): Promise<{ readonly backend: Backend; readonly owned: boolean } & T> {
  const backends = await candidatesFor(options);
  const owned = typeof options.backend === 'string';
  let chosen: Backend | undefined;
  try {
    const choice = choose(backends);
    chosen = choice.backend;
    return { ...choice, owned };
  } finally {
    if (owned) for (const backend of backends) if (backend !== chosen) backend.dispose();
  }
}

/** The first backend with memory for the bytes that a model takes on it. @throws RuntimeError MODEL_TOO_LARGE */
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

/**
 * Plans a model on the best of the backends that the options allow.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, MODEL_TOO_LARGE, CONTEXT_TOO_LARGE, BAD_OPTION; BackendError
 * UNSUPPORTED (the cache's dtype)
 */
export function chooseBackend(file: ModelFile, options: ResolvedLoadOptions): Promise<ChosenBackend> {
  return takeBackend(options, (backends) => {
    const devices = backends.map((backend) => plannerDevice(backend, file));
    const plan = planBackends(describeModel(file), devices, planRequest(options));
    const backend = backends.find(({ name }) => name === plan.ranges[0]!.backend)!;
    needKvDtype(backend, options.cacheDtype);
    return { backend, plan };
  });
}

const planRequest = ({
  backend,
  context,
  cacheDtype,
  sequences,
  prefillChunk,
}: ResolvedLoadOptions): PlanRequest => ({
  named: backend !== 'auto',
  ...(context !== undefined && { context }),
  cacheDtype,
  sequences,
  prefillChunk,
});
