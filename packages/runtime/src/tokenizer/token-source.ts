import type { DecodeOptions, Tokenizer } from './tokenizer.js';

/** What a stream needs of a tokenizer. */
export type TokenSource = Pick<Tokenizer, 'tokenBytes' | 'isControl' | 'addSpacePrefix' | 'textSteps'>;

export interface TokenStreamOptions extends DecodeOptions {
  /**
   * The tokens go on from a text that is already there, so that a leading space is part of them. Default false: the
   * first token's space is the one that `encode` added, if the tokenizer adds one, and is dropped.
   */
  continues?: boolean | undefined;
}
