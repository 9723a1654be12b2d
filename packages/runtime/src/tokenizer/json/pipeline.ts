import type { Cooperative } from '@quern/core';
import type { TextModel } from '../tokenizer.js';
import { WordCache } from '../word-cache.js';
import type { PreTokenizer } from './pre-tokenizer.js';
import type { WordModel } from './word-model.js';

/** Normal text to tokens: splits into words, which the model turns into tokens. */
export class Pipeline implements TextModel {
  private readonly words: WordCache;

  constructor(
    private readonly preTokenizer: PreTokenizer | undefined,
    model: WordModel,
  ) {
    const spell = preTokenizer?.spell;
    this.words = new WordCache(spell ? (word) => model.encode(spell(word)) : (word) => model.encode(word));
  }

  encode(text: string, afterSpecial: boolean, ids: number[]): Cooperative<void> {
    return this.words.encodeAll(this.preTokenizer?.split(text, afterSpecial) ?? [text], ids);
  }
}
