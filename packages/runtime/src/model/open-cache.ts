import {
  type Backend,
  type BackendPlan,
  contiguousKvCache,
  KvCache,
  type KvCacheOptions,
  need,
} from '@quern/core';
import type { DecoderConfig, PartPlace } from '@quern/models';
import type { ResolvedLoadOptions } from './load-options.js';

/** Tokens per block where the caller names none. */
const usualBlockSize = 16;

/**
 * The cache that a plan affords: the layers of each range on its backend.
 * @throws BackendError OUT_OF_MEMORY, UNSUPPORTED, BAD_ARGUMENT
 */
export function openCache(
  places: readonly PartPlace[],
  config: DecoderConfig,
  { context }: BackendPlan,
  { cache, cacheDtype, sequences, blockSize }: ResolvedLoadOptions,
): KvCache {
  const { layers, kvHeads, headDim } = config;
  const options: KvCacheOptions = { layers, kvHeads, headDim, dtype: cacheDtype, context };
  const backends = places.flatMap(({ backend, from, to }) => new Array<Backend>(to - from).fill(backend));
  if (cache === 'contiguous') return contiguousKvCache(backends, { ...options, sequences });
  const size = chooseBlockSize(places, blockSize);
  return KvCache.allocate(backends, options, Math.ceil(context / size) * sequences, size);
}

/** The size asked for, or one that is fast on all backends, or else on the first. */
function chooseBlockSize(places: readonly PartPlace[], wanted: number | undefined): number {
  const [first, ...others] = places.map(({ backend }) => {
    need(backend, 'pagedKv');
    return backend.pagedKv.blockSizes;
  });
  const common = first!.filter((size) => others.every((sizes) => sizes.includes(size)));
  return wanted ?? (common.includes(usualBlockSize) ? usualBlockSize : (common[0] ?? first![0]!));
}
