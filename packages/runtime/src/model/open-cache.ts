import {
  type Backend,
  BackendError,
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
 * @throws BackendError OUT_OF_MEMORY, UNSUPPORTED, BAD_ARGUMENT (block size)
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

/** A size of blocks that all backends have. */
function chooseBlockSize(places: readonly PartPlace[], wanted: number | undefined): number {
  const [first, ...others] = places.map(({ backend }) => {
    need(backend, 'pagedKv');
    return backend.pagedKv.blockSizes;
  });
  const common = first!.filter((size) => others.every((sizes) => sizes.includes(size)));
  const chosen = wanted ?? (common.includes(usualBlockSize) ? usualBlockSize : common[0]);
  if (chosen !== undefined && common.includes(chosen)) return chosen;
  const names = places.map(({ backend }) => `'${backend.name}'`).join(' and ');
  throw new BackendError(
    'BAD_ARGUMENT',
    `blocks of ${wanted ?? 'one size'} tokens are not among ${common.join(', ') || 'none'}, the sizes of ${names}`,
  );
}
