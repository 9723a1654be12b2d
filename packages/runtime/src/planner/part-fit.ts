import { kvCacheBytes, stateBytes } from '@quern/core';
import { rangeCost } from '@quern/models';
import type { PlacedLayers } from './estimate.js';
import { activationBytes, samplingBytes, statesFor } from './memory.js';
import type { PlanRequest } from './plan-request.js';
import type { PlannedModel, PlannerDevice } from './planner-device.js';

/** Fraction of free memory reserved for the rest of the process and the system. */
const reservedPart = 1 / 16;

export const usableMemory = ({ freeMemory }: PlannerDevice): number => freeMemory * (1 - reservedPart);

/** Layers on a device: their bytes, and the room for the cache. */
export interface PartFit extends PlacedLayers {
  readonly weights: number;
  readonly activations: number;
  /** Bytes of states of fixed size. */
  readonly states: number;
  /** Cache bytes of one token of one sequence. */
  readonly bytesPerToken: number;
  /** Most tokens in the cache, of all sequences together; negative where even the weights do not fit. */
  readonly largestRoom: number;
}

/** Bytes of the largest step and of the sampler: as rehearsed, else as estimated. */
function largestStep(
  model: PlannedModel,
  { device: { steps, profile }, to }: PlacedLayers,
  { prefillChunk, sequences }: PlanRequest,
): number {
  const decoding = to === model.config.layers ? sequences : 0;
  const chunks = profile.plansInFlight ?? 1; // each plan in flight holds one chunk of a prompt
  if (!steps) return activationBytes(model, chunks * prefillChunk, decoding);
  const prefill = chunks * steps.prefill;
  if (decoding === 0) return prefill;
  const largest = sequences === 1 ? prefill : Math.max(prefill, steps.decode);
  return largest + samplingBytes(model);
}

export function fitPart(model: PlannedModel, placed: PlacedLayers, request: PlanRequest): PartFit {
  const { device, from, to } = placed;
  const { kvHeads, headDim } = model.config;
  const layerStates = model.config.layerStates?.slice(from, to);
  const kept = { layers: to - from, kvHeads, headDim, layerStates };
  const { cacheDtype: dtype } = request;
  const weights = rangeCost(device.costs, placed).bytes;
  const activations = largestStep(model, placed, request);
  const bytesPerToken = kvCacheBytes({ ...kept, dtype }, 1);
  const states = statesFor(request.sequences) * stateBytes(kept);
  const largestRoom = Math.floor((usableMemory(device) - weights - activations - states) / bytesPerToken);
  return { device, from, to, weights, activations, states, bytesPerToken, largestRoom };
}

/** Bytes of a part with `room` tokens in the cache. */
export const bytesOf = ({ weights, activations, states, bytesPerToken }: PartFit, room: number): number =>
  weights + activations + states + room * bytesPerToken;
