import type { Cooperative } from '@quern/core';

/** Turns words into tokens. */
export interface WordModel {
  encode(word: string): Cooperative<readonly number[]>;
}

/** One model in two views. `parsing` finds special tokens of the vocabulary; `typed`, for typed text, never does. */
export interface Models {
  readonly parsing: WordModel;
  readonly typed: WordModel;
}
