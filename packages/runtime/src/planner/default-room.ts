import { largestRoomOf } from './choose-split.js';
import type { PartFit } from './part-fit.js';
import type { PlanRequest } from './plan-request.js';
import type { PlannedModel } from './planner-device.js';

/** Tokens of context that each sequence has by default, even where they take more than `cachePart` of the memory. */
export const modestContext = 4096;

/** Part of the memory beside weights and steps that the cache takes by default. The rest is left to other work. */
const cachePart = 1 / 2;

/** Tokens of context that the model was made for. LongRoPE: those of its list for short texts, which a longer cache would not use. */
export const ownContext = ({ config: { context, positionRows, shortRope } }: PlannedModel): number =>
  Math.min(context, positionRows ?? context, shortRope?.context ?? context);

/** Tokens in the cache that are worth slower devices or the last free memory: as requested, else `modestContext` for each sequence. */
export const neededRoom = (model: PlannedModel, request: PlanRequest): number =>
  request.sequences * wholeBlocks(request, request.context ?? Math.min(ownContext(model), modestContext));

/** Tokens of the blocks that hold `tokens`. */
export const wholeBlocks = ({ blockSize = 1 }: PlanRequest, tokens: number): number =>
  Math.ceil(tokens / blockSize) * blockSize;

/**
 * Tokens in the cache where no context is requested: for each sequence the model's own context, limited to half of
 * the memory left after weights and steps; `neededRoom` may use all of it.
 */
export function defaultRoom(model: PlannedModel, request: PlanRequest, parts: readonly PartFit[]): number {
  const largest = largestRoomOf(parts);
  const usual = Math.max(neededRoom(model, request), Math.floor(cachePart * largest));
  return Math.min(request.sequences * ownContext(model), usual, largest);
}

/** Context of a sequence in a room without a requested context. */
export const defaultContext = (model: PlannedModel, room: number): number =>
  Math.min(ownContext(model), room);
