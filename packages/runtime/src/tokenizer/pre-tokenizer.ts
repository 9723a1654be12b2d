import type { Splitter } from './split-text.js';

/** How a BPE vocabulary wants its text split into words before merging. */
export interface PreTokenizer {
  /** Applied one after another: each splits the pieces of the one before into matches and what lies between them. */
  patterns: readonly Splitter[];
  /** A word that is a token is taken whole, without looking at the merges; with a pattern, such words alone. */
  wholeWordsFirst?: boolean | RegExp;
  /**
   * Tokens are spelled in characters, not in GPT-2's letters for bytes: with a mark for each space, or without any space,
   * which only ends a word.
   */
  characters?: 'space marks' | 'no spaces';
  /** A prompt begins with the beginning-of-sequence token unless the file says otherwise. */
  addBos?: boolean;
  /** It does so although the file says otherwise: the first converters for Gemma 4 said it wrongly. */
  alwaysBos?: boolean;
}
