import type { BackendPlan } from '@quern/core';
import type { PlannerDevice } from './planner-device.js';

/** Most prompt tokens in one step where the caller gives no number. */
export const usualChunk = 512;

/** The same on fast GPUs: each step of a prompt reads and decodes all weights. */
export const longChunk = 2048;

/** A call that comes during a step of a prompt waits for its end: seconds, by the plan's estimate. */
const longestChunk = 0.5;

/** Whether the plan's devices are GPUs that compute `longChunk` tokens soon enough. */
export function takesLongChunk(
  { ranges, estimate }: BackendPlan,
  devices: readonly PlannerDevice[],
): boolean {
  const onGpus = ranges.every(
    ({ backend }) => devices.find((device) => device.backend === backend)?.profile.kind === 'gpu',
  );
  return onGpus && longChunk <= longestChunk * estimate.prefillTokensPerSecond;
}

/** Whether a plan with longer steps has the same layers on each device, and the same room for the cache. */
export const isAsRoomy = (longer: BackendPlan, plan: BackendPlan): boolean =>
  longer.context === plan.context &&
  longer.room === plan.room &&
  longer.ranges.length === plan.ranges.length &&
  longer.ranges.every(({ backend, endLayer }, i) => {
    const other = plan.ranges[i]!;
    return backend === other.backend && endLayer === other.endLayer;
  });
