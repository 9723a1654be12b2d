import type { Engine } from '../engine/engine.js';
import type { WithVocabulary } from './same-vocabulary.js';

/** The draft model's services for speculation. */
export interface DraftSource {
  readonly engine: Engine;
  readonly context: number;
  /** Cost of one of its tokens, in tokens of the target model. */
  readonly cost: number;
  /** See `LoadOptions.deterministic`. */
  readonly deterministic: boolean;
}

/** The target of a draft model. */
export interface DraftTarget extends WithVocabulary {
  /** Bytes of the weights. */
  readonly weightBytes: number;
}

/** A model that can draft, from `loadModel`. */
export interface DraftingModel extends WithVocabulary {
  draftFor(target: DraftTarget): DraftSource;
}
