import { type Backend, type BackendPlan, KvCache, type KvCacheOptions } from '@quern/core';
import type { DecoderConfig, PartPlace } from '@quern/models';
import { statesFor } from '../planner/memory.js';
import type { ResolvedLoadOptions } from './load-options.js';

/** Default tokens per block. */
export const usualBlockSize = 16;

/**
 * The cache of a plan: the layers of each range on the range's backend.
 * @throws BackendError OUT_OF_MEMORY, UNSUPPORTED, BAD_ARGUMENT
 */
export function openCache(
  places: readonly PartPlace[],
  config: DecoderConfig,
  { context, room }: Pick<BackendPlan, 'context' | 'room'>,
  loading: ResolvedLoadOptions,
): KvCache {
  const { cacheDtype, blockSize, sequences } = loading;
  const { layers, kvHeads, headDim, layerStates } = config;
  const options: KvCacheOptions = {
    ...{ layers, kvHeads, headDim, layerStates, dtype: cacheDtype, context },
    ...(layerStates && { states: statesFor(sequences) }),
  };
  const backends = places.flatMap(({ backend, from, to }) => new Array<Backend>(to - from).fill(backend));
  const size = chooseBlockSize(places, blockSize === undefined ? undefined : Math.min(blockSize, context));
  return KvCache.allocate(backends, options, Math.ceil(room / size), size);
}

/**
 * The caller's size; else 16 or the first other size that is fast on all backends; else the first backend's first size.
 * Every backend is right with every size; one without `pagedKv` names none as fast.
 */
function chooseBlockSize(places: readonly PartPlace[], wanted: number | undefined): number {
  const named = places.flatMap(({ backend }) => (backend.pagedKv ? [backend.pagedKv.blockSizes] : []));
  const [first = [usualBlockSize], ...others] = named;
  const common = first.filter((size) => others.every((sizes) => sizes.includes(size)));
  return wanted ?? (common.includes(usualBlockSize) ? usualBlockSize : (common[0] ?? first[0]!));
}
