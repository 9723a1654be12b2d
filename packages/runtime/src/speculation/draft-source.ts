import type { Engine } from '../engine/engine.js';
import type { Lease } from '../engine/sequence-pool.js';
import type { Patience } from '../engine/waiter.js';

/** What speculation needs of the model that drafts. */
export interface DraftSource {
  readonly engine: Engine;
  readonly context: number;
  /** What a token of it costs, in tokens of the model that it drafts for. */
  readonly cost: number;
  /** A sequence of its own cache with room for `tokens`. */
  open(tokens: number, patience: Patience): Promise<Lease>;
}
