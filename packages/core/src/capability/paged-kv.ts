import type { KvCache, KvCacheOptions } from '../kv/kv-cache.js';

/** Caches in blocks. A sequence takes blocks as it grows, through a block table. */
export interface PagedKv {
  /** Tokens per block with fast kernels. Other sizes give the same values, perhaps slower. */
  readonly blockSizes: readonly number[];
  /**
   * A cache of `blocks` blocks of `blockSize` tokens, shared by any number of sequences.
   * Throws BAD_ARGUMENT for sizes that are not whole numbers above 0, OUT_OF_MEMORY before anything is allocated.
   */
  createCache(options: KvCacheOptions & { readonly blocks: number; readonly blockSize: number }): KvCache;
}
