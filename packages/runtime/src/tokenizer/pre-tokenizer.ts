import type { Splitter } from './split-text.js';

/** How a BPE vocabulary splits text into words before merging. */
export interface PreTokenizer {
  /** Applied in order: each pattern splits the previous pieces into matches and the text between them. */
  patterns: readonly Splitter[];
  /** A word that is a token is taken whole, without merges. A pattern: only words that match it. */
  wholeWordsFirst?: boolean | RegExp;
  /**
   * Tokens are spelled in characters, not in GPT-2's letters for bytes. 'space marks': a mark per space. 'no spaces':
   * spaces only end words.
   */
  characters?: 'space marks' | 'no spaces';
  /** Default of adding BOS to a prompt; the file may override it. */
  addBos?: boolean;
  /** Add BOS even if the file says otherwise: the first converters for Gemma 4 wrote a wrong value. */
  alwaysBos?: boolean;
}
