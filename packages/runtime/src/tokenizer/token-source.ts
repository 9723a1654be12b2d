import type { DecodeOptions, Tokenizer } from './tokenizer.js';

/** The tokenizer's parts for a token stream. */
export type TokenSource = Pick<Tokenizer, 'tokenBytes' | 'isControl' | 'addSpacePrefix' | 'textSteps'>;

export interface TokenStreamOptions extends DecodeOptions {
  /**
   * The tokens continue an existing text: a leading space is kept. Default false: the first token's space is dropped if
   * `encode` adds one.
   */
  continues?: boolean | undefined;
}
