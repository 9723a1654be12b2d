import type { Cooperative } from '@quern/core';
import { badVocabulary } from '../error.js';
import type { Fields } from './fields.js';
import type { Find, ModelTokens } from './model-tokens.js';
import type { WordModel } from './word-model.js';

/** One token per word. */
export class WordLevelModel implements WordModel {
  private readonly unknown: number | undefined;

  constructor(
    fields: Fields,
    tokens: ModelTokens,
    private readonly find: Find,
  ) {
    this.unknown = tokens.find(fields.string('unk_token', '<unk>'));
  }

  // biome-ignore lint/correctness/useYield: one look-up is no work to divide
  *encode(word: string): Cooperative<readonly number[]> {
    const id = this.find(word) ?? this.unknown;
    if (id !== undefined) return [id];
    throw badVocabulary(
      `no token for "${word.slice(0, 60)}": the vocabulary has neither it nor the unknown token`,
    );
  }
}
