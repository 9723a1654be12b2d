import type { Divided } from '@quern/core';

/** Turns words into tokens. */
export interface WordModel {
  encode(word: string): Divided<readonly number[]>;
}

/** The same model twice: as it is, and blind to the special tokens among its own, which no text may become. */
export interface Models {
  readonly parsing: WordModel;
  readonly typed: WordModel;
}
