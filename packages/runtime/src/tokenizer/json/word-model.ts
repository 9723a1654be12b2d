import type { Divided } from '@quern/core';

/** Turns words into tokens. */
export interface WordModel {
  encode(word: string): Divided<readonly number[]>;
}

/** One model in two views: `parsing` finds special tokens of its vocabulary, `typed` never does (for typed text). */
export interface Models {
  readonly parsing: WordModel;
  readonly typed: WordModel;
}
