import type { Engine } from '../engine/engine.js';
import type { AdapterLoan } from '../model/adapters.js';
import type { DraftSource } from '../speculation/draft-source.js';
import type { Constraint } from '../structured/constraint.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** A prompt as tokens. `continues`: the generated text continues a text. */
export interface Prompt {
  readonly ids: readonly number[];
  readonly continues: boolean;
  /** Control tokens whose text is shown: the marks of calls and thoughts. */
  readonly shown?: ReadonlySet<number> | undefined;
}

/** The model's or session's services for a generation. */
export interface GenerationSource {
  readonly engine: Engine;
  readonly tokenizer: Tokenizer | undefined;
  /** V */
  readonly vocabulary: number;
  readonly context: number;
  /** Throws DISPOSED. */
  readonly needLive: () => void;
  /** The checked and encoded prompt. Call after the options have been checked. */
  prompt(): Promise<Prompt>;
  /** What the text must be; undefined for any text. Throws BAD_OPTION, BAD_GRAMMAR, NO_TOKENIZER. */
  constraint(): Promise<Constraint | undefined>;
  /** The adapters of the call, until their end. Throws ADAPTER_NOT_FOUND, BAD_OPTION. */
  adapters(): AdapterLoan;
  /** The draft model, if the caller named one. Throws BAD_OPTION, DISPOSED. */
  draft(): DraftSource | undefined;
}
