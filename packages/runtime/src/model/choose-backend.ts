import type { Backend, BackendPlan } from '@quern/core';
import type { ModelFile } from '@quern/models';
import { describeModel } from '@quern/models';
import { findBackend, findBackends, type LoadedBackend, showCandidates } from '../discovery/find-backends.js';
import { RuntimeError } from '../error.js';
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

/** Every installed backend that loads. @throws RuntimeError NO_BACKEND */
async function installed(options: ResolvedLoadOptions): Promise<Backend[]> {
  const candidates = await findBackends(options);
  for (const { error, package: name } of candidates)
    if (error !== undefined) options.onNotice?.(`the backend of ${name} does not load: ${error}`);
  const loaded = candidates.filter(
    (candidate): candidate is LoadedBackend => candidate.backend !== undefined,
  );
  if (loaded.length > 0) return loaded.map(({ backend }) => backend);
  throw new RuntimeError(
    'NO_BACKEND',
    `there is no backend to compute with: ${showCandidates(candidates, options.resolveFrom)}. To add one: npm install @quern/backend-cpu`,
  );
}

async function candidatesFor(options: ResolvedLoadOptions): Promise<Backend[]> {
  if (typeof options.backend !== 'string') return [options.backend];
  if (options.backend === 'auto') return installed(options);
  return [(await findBackend(options.backend, options)).backend];
}

/**
 * Finds the backends that the options allow and plans the model on the best; the others are disposed, on failure all that
 * were loaded here.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, MODEL_TOO_LARGE, CONTEXT_TOO_LARGE
 */
export async function chooseBackend(file: ModelFile, options: ResolvedLoadOptions): Promise<ChosenBackend> {
  const backends = await candidatesFor(options);
  const owned = typeof options.backend === 'string';
  let chosen: Backend | undefined;
  try {
    const devices = backends.map((backend) => plannerDevice(backend, file));
    const plan = planBackends(describeModel(file), devices, planRequest(options));
    chosen = backends.find(({ name }) => name === plan.ranges[0]!.backend)!;
    return { backend: chosen, owned, plan };
  } finally {
    if (owned) for (const backend of backends) if (backend !== chosen) backend.dispose();
  }
}

const planRequest = ({ context, cacheDtype, sequences, prefillChunk }: ResolvedLoadOptions): PlanRequest => ({
  ...(context !== undefined && { context }),
  cacheDtype,
  sequences,
  prefillChunk,
});
