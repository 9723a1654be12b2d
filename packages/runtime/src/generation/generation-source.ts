import type { Engine } from '../engine/engine.js';
import type { Lease } from '../engine/lease.js';
import type { DraftSource } from '../speculation/draft-source.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** A prompt as tokens, and whether the generated text goes on from a text. */
export interface Prompt {
  readonly ids: readonly number[];
  readonly continues: boolean;
}

/** A sequence for a generation: the first `reused` tokens of the prompt are in it already, and no others. */
export interface OpenedSequence {
  readonly lease: Lease;
  readonly reused: number;
  /** Ends the lease. Called once, with the tokens that the sequence then holds. */
  close(held: readonly number[]): void;
}

/** Everything a generation needs of its model or session. */
export interface GenerationSource {
  readonly engine: Engine;
  readonly tokenizer: Tokenizer | undefined;
  /** V */
  readonly vocabulary: number;
  readonly context: number;
  /** Throws DISPOSED. */
  needLive(): void;
  /** The prompt, checked and encoded, once the options have been checked. */
  prompt(): Promise<Prompt>;
  /** The model that drafts, if one was named. Throws BAD_OPTION, DISPOSED. */
  draft(): DraftSource | undefined;
  /** A sequence with room for `tokens`, those of the prompt included. */
  open(ids: readonly number[], tokens: number): Promise<OpenedSequence>;
}
