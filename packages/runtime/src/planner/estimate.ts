import type { BackendPlan } from '@quern/core';
import type { PlannedModel, PlannerDevice } from './planner-device.js';

/**
 * Decode reads every active weight once per token: bandwidth / bytes. Prefill does two operations per active parameter
 * and token, embedding and output aside: flops / (2 · parameters). Both follow from the measured profile, whose flops are
 * f32: a backend that multiplies in 8 bits prefills faster than this.
 */
export function estimateSpeed(model: PlannedModel, device: PlannerDevice): BackendPlan['estimate'] {
  const { vocabulary, width, tied } = model.config;
  const perToken = model.activeParameters - vocabulary * width * (tied ? 1 : 2);
  return {
    prefillTokensPerSecond: device.profile.flops / (2 * perToken),
    decodeTokensPerSecond: device.profile.readBandwidth / device.bytesPerToken,
  };
}
