import type { KvSequence } from '@quern/core';

/** A sequence in use, with the blocks that are reserved for it: growing to them cannot fail. */
export interface Lease {
  readonly sequence: KvSequence;
  /** Frees the sequence. */
  release(): void;
  /** Keeps what it holds for a later call; others may take the blocks meanwhile. */
  park(): Parked;
}

/** A sequence nobody uses now. Its content is there until its blocks are needed elsewhere. */
export interface Parked {
  readonly held: boolean;
  release(): void;
}
