import type { KvSequence } from '@quern/core';

/** A whole block whose tokens are known. Its key is that of the block before it and its own tokens. */
export interface PrefixBlock {
  readonly id: number;
  readonly key: string;
  /** Place in the cache. */
  readonly block: number;
  /** Sequences that hold it. */
  users: number;
  /** Of caches with states: the one after its tokens, if the cache keeps it. */
  state?: number | undefined;
  /** Where blocks are offloaded. */
  readonly offloaded?: OffloadedBlock;
}

/** A block outside of the device. */
export interface OffloadedBlock {
  /** See `BlockNames`. */
  readonly name: string;
  /** Place in its chain. */
  readonly index: number;
  /** Whether the folder has it, or it is being written. */
  onDisk: boolean;
}

/** What the prefix cache needs of a `Sequence`. */
export interface PrefixHolder {
  readonly tokens: readonly number[];
  readonly computed: number;
  readonly reuse: boolean;
  /** Whether it has ended. */
  readonly released: boolean;
  /** What changes the values of all its tokens: equal tokens under other roots are not the same. */
  readonly root: string;
  kv: KvSequence;
  /** Known blocks at its start. */
  readonly known: PrefixBlock[];
}

/** Tokens that came from offloaded blocks, and the bytes of those in memory. */
export interface OffloadCounts {
  readonly memoryHits: number;
  readonly diskHits: number;
  readonly cacheMemoryBytes: number;
}
