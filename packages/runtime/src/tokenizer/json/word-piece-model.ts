import type { Cooperative } from '@quern/core';
import { isLonger } from '../word-piece.js';
import type { Fields } from './fields.js';
import type { Find, ModelTokens } from './model-tokens.js';
import type { WordModel } from './word-model.js';

/**
 * Words split greedily into the longest tokens of the vocabulary (Wu et al. 2016). Tokens inside a word have a prefix.
 */
export class WordPieceModel implements WordModel {
  private readonly unknown: number;
  private readonly prefix: string;
  private readonly longestWord: number;
  private readonly longestToken: number;

  constructor(
    fields: Fields,
    tokens: ModelTokens,
    private readonly find: Find,
  ) {
    this.unknown = tokens.need(fields.string('unk_token', '[UNK]'), 'model.unk_token');
    this.prefix = fields.string('continuing_subword_prefix', '##');
    this.longestWord = fields.count('max_input_chars_per_word', 100);
    this.longestToken = tokens.entries.reduce((longest, [{ length }]) => Math.max(longest, length), 0);
  }

  *encode(word: string): Cooperative<readonly number[]> {
    if (isLonger(word, this.longestWord)) return [this.unknown];
    const ids: number[] = [];
    for (let at = 0; at < word.length; ) {
      const found = this.longestAt(word, at);
      if (!found) return [this.unknown];
      ids.push(found.id);
      at = found.end;
      yield;
    }
    return ids;
  }

  private longestAt(word: string, at: number): { id: number; end: number } | undefined {
    const prefix = at > 0 ? this.prefix : '';
    const last = Math.min(word.length, at + this.longestToken - prefix.length);
    for (let end = last; end > at; end--) {
      const id = this.find(prefix + word.slice(at, end));
      if (id !== undefined) return { id, end };
    }
    return undefined;
  }
}
