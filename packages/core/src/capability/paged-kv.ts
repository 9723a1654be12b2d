import type { KvCache, KvCacheOptions } from '../kv/kv-cache.js';

/** Caches cut into blocks that sequences take as they grow, through a block table. */
export interface PagedKv {
  /** Tokens per block that the attention kernels read. */
  readonly blockSizes: readonly number[];
  /**
   * A cache of `blocks` blocks of `blockSize` tokens, shared by any number of sequences.
   * Throws BAD_ARGUMENT for a block size not in `blockSizes`, OUT_OF_MEMORY before anything is allocated.
   */
  createCache(options: KvCacheOptions & { readonly blocks: number; readonly blockSize: number }): KvCache;
}
