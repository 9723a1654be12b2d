import type { KvSequence } from '@quern/core';

/** A whole block whose tokens are known. Its key is that of the block before it and its own tokens. */
export interface PrefixBlock {
  readonly id: number;
  readonly key: string;
  /** Place in the cache. */
  readonly block: number;
  /** Calls that hold it. */
  users: number;
  /** Where copies of blocks are kept: the copies of this one. */
  readonly copy?: BlockCopy;
}

/** What is known of a block's copies outside of the device. */
export interface BlockCopy {
  /** See `BlockNames`. */
  readonly name: string;
  /** Place in its chain. */
  readonly index: number;
  /** Whether the folder has it, or it is being written. */
  onDisk: boolean;
}

/** What the known tokens of a cache need of a call: see `Lease`. */
export interface PrefixHolder {
  readonly tokens: readonly number[];
  readonly computed: number;
  readonly reuse: boolean;
  /** Whether the call has ended. */
  readonly released: boolean;
  /** What changes the values of all its tokens: equal tokens under other roots are not the same. */
  readonly root: string;
  sequence: KvSequence;
  /** Known blocks at the beginning of the sequence. */
  readonly known: PrefixBlock[];
}

/** Tokens that a cache still holds after their call has ended. */
export interface Prefixes {
  /** Known blocks of no call. */
  readonly idleBlocks: number;
  /** Blocks that `evict` can free now. */
  readonly evictableBlocks: number;
  /** Whether blocks are being restored for the holder: `begin` must wait. */
  isPreparing(holder: PrefixHolder): boolean;
  /**
   * Starts the holder's sequence with the longest known prefix of its tokens; at least one token stays to be computed.
   * False: another call computes the next block at this moment, ask again after its step; or blocks are being restored.
   */
  begin(holder: PrefixHolder): boolean;
  /** Makes the computed tokens known. */
  learn(holder: PrefixHolder): void;
  /** The holder gives up its tokens from `length` on. Call before the sequence is cut. */
  cut(holder: PrefixHolder, length: number): void;
  /** Takes the holder's sequence. Its tokens stay known until their blocks are evicted. */
  release(holder: PrefixHolder): void;
  /** Frees up to `blocks` blocks, least recently used first. */
  evict(blocks: number): void;
}

/** Tokens that came from copies of blocks, and the copies in memory. */
export interface CopyCounts {
  readonly memoryHits: number;
  readonly diskHits: number;
  readonly cacheMemoryBytes: number;
}
