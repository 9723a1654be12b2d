import type { Engine } from '../engine/engine.js';
import type { Lease } from '../engine/lease.js';
import type { DraftSource } from '../speculation/draft-source.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** A prompt as tokens. `continues`: the generated text continues a text. */
export interface Prompt {
  readonly ids: readonly number[];
  readonly continues: boolean;
}

/** A sequence for a generation. It holds the first `reused` tokens of the prompt and no others. */
export interface OpenedSequence {
  readonly lease: Lease;
  readonly reused: number;
  /** Ends the lease. Called once, with the tokens in the sequence. */
  close(held: readonly number[]): void;
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
  /** The draft model, if the caller named one. Throws BAD_OPTION, DISPOSED. */
  draft(): DraftSource | undefined;
  /** A sequence with room for `tokens` in total, the prompt included. */
  open(ids: readonly number[], tokens: number): Promise<OpenedSequence>;
}
