import type { KvSequence } from '@quern/core';

/** A sequence in use, with its reserved blocks: growing within the reservation cannot fail. */
export interface Lease {
  readonly sequence: KvSequence;
  /** Frees the sequence. */
  release(): void;
  /** Keeps the content for a later call; until then other calls may take the blocks. */
  park(): Parked;
}

/** A sequence not in use. Its content stays until another call takes its blocks. */
export interface Parked {
  readonly held: boolean;
  release(): void;
}
