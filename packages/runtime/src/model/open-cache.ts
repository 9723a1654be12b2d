import {
  type Backend,
  type BackendPlan,
  contiguousKvCache,
  type KvCache,
  type KvCacheOptions,
  need,
} from '@quern/core';
import type { DecoderConfig } from '@quern/models';
import type { ResolvedLoadOptions } from './load-options.js';

/** Tokens per block where the caller names none. */
const usualBlockSize = 16;

/** The cache that a plan affords. @throws BackendError OUT_OF_MEMORY, UNSUPPORTED, BAD_ARGUMENT */
export function openCache(
  backend: Backend,
  config: DecoderConfig,
  { context }: BackendPlan,
  { cache, cacheDtype, sequences, blockSize }: ResolvedLoadOptions,
): KvCache {
  const { layers, kvHeads, headDim } = config;
  const options: KvCacheOptions = { layers, kvHeads, headDim, dtype: cacheDtype, context };
  if (cache === 'contiguous') return contiguousKvCache(backend, { ...options, sequences });
  need(backend, 'pagedKv');
  const { blockSizes } = backend.pagedKv;
  const size = blockSize ?? (blockSizes.includes(usualBlockSize) ? usualBlockSize : blockSizes[0]!);
  return backend.pagedKv.createCache({
    ...options,
    blockSize: size,
    blocks: Math.ceil(context / size) * sequences,
  });
}
