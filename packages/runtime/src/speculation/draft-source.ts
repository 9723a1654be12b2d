import type { Engine } from '../engine/engine.js';
import type { Lease } from '../engine/lease.js';
import type { Patience } from '../engine/waiter.js';
import type { WithVocabulary } from './same-vocabulary.js';

/** What speculation needs of the model that drafts. */
export interface DraftSource {
  readonly engine: Engine;
  readonly context: number;
  /** What a token of it costs, in tokens of the model that it drafts for. */
  readonly cost: number;
  /** A sequence of its own cache with room for `tokens`. */
  open(tokens: number, patience: Patience): Promise<Lease>;
}

/** A model that another one drafts for. */
export interface DraftTarget extends WithVocabulary {
  /** Bytes that the weights take. */
  readonly weightBytes: number;
}

/** A model that can draft: what `loadModel` gives. */
export interface DraftingModel extends WithVocabulary {
  draftFor(target: DraftTarget): DraftSource;
}
