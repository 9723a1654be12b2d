import type { BackendPlan } from '@quern/core';
import { type LayerRange, rangeCost } from '@quern/models';
import type { PlannedModel, PlannerDevice } from './planner-device.js';

/** Layers on a device. */
export interface PlacedLayers extends LayerRange {
  readonly device: PlannerDevice;
}

/**
 * Seconds of a device per decoded token, for its layers: max(bytes of active weights / bandwidth, 2 · active elements /
 * rate). Rates of the profile: `rowFlops` for weights in blocks, `flops` for dense weights.
 */
export function decodeSeconds({ device, from, to }: PlacedLayers): number {
  const { readBandwidth, flops, rowFlops = flops } = device.profile;
  const { perToken, active, inBlocks } = rangeCost(device.costs, { from, to });
  const computing = (2 * (active - inBlocks)) / flops + (2 * inBlocks) / rowFlops;
  return Math.max(perToken / readBandwidth, computing);
}

/**
 * Seconds per prompt token: two operations per active element of the layers, at the rate of many rows:
 * `promptFlops` for weights in blocks, `flops` for dense weights. Reading weights is shared by all rows and not counted.
 */
function prefillSeconds({ device, from, to }: PlacedLayers): number {
  const { flops, promptFlops = flops } = device.profile;
  const layers = device.costs.layers.slice(from, to);
  return layers.reduce(
    (sum, { active, inBlocks }) => sum + (2 * (active - inBlocks)) / flops + (2 * inBlocks) / promptFlops,
    0,
  );
}

/** Bytes of one token's residual stream, f32. */
export const streamBytes = ({ config }: PlannedModel): number => 4 * config.width;

/** Seconds to copy one token's residual stream from a device through host memory to another. */
export function copySeconds(model: PlannedModel, from: PlannerDevice, to: PlannerDevice): number {
  const bytes = streamBytes(model);
  const out = from.profile.links ? bytes / from.profile.links.deviceToHost : 0;
  return out + (to.profile.links ? bytes / to.profile.links.hostToDevice : 0);
}

/** Tokens per second; the parts compute one after the other. */
export function estimateSpeed(model: PlannedModel, parts: readonly PlacedLayers[]): BackendPlan['estimate'] {
  const copies = parts
    .slice(1)
    .reduce((sum, { device }, i) => sum + copySeconds(model, parts[i]!.device, device), 0);
  const total = (secondsOf: (part: PlacedLayers) => number) =>
    parts.reduce((sum, part) => sum + secondsOf(part), copies);
  return {
    prefillTokensPerSecond: 1 / total(prefillSeconds),
    decodeTokensPerSecond: 1 / total(decodeSeconds),
  };
}
