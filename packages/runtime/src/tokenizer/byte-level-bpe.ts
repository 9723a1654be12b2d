import { type Divided, eachOf } from '@quern/core';
import { toByteLevel } from './byte-level.js';
import { mergePairs } from './merge.js';
import type { PreTokenizer } from './pre-tokenizers.js';
import { splitText } from './split-text.js';
import type { TextModel } from './tokenizer.js';
import type { Vocabulary } from './vocabulary.js';
import { WordCache } from './word-cache.js';

/**
 * Byte-level BPE with a merge list (Radford et al. 2019, GPT-2): Llama 3, Qwen, Mistral's tekken and many more. Text is
 * split into words by the pre-tokenizer; within a word the earliest merge of the list goes first.
 */
export class ByteLevelBpe implements TextModel {
  private readonly words = new WordCache((word) => this.encodeWord(word));

  private constructor(
    private readonly vocabulary: Vocabulary,
    private readonly ranks: ReadonlyMap<string, number>,
    private readonly preTokenizer: PreTokenizer,
  ) {}

  /** `merges`: "left right", best first. */
  static *of(
    vocabulary: Vocabulary,
    merges: readonly string[],
    preTokenizer: PreTokenizer,
  ): Divided<ByteLevelBpe> {
    const ranks = new Map<string, number>();
    yield* eachOf(merges, (merge, rank) => {
      if (!ranks.has(merge)) ranks.set(merge, rank);
    });
    return new ByteLevelBpe(vocabulary, ranks, preTokenizer);
  }

  encode(text: string, _afterSpecial: boolean, ids: number[]): Divided<void> {
    return this.words.encodeAll(splitText(text, this.preTokenizer.patterns), ids);
  }

  private *encodeWord(word: string): Divided<number[]> {
    const spelling = toByteLevel(word);
    const whole = this.preTokenizer.wholeWordsFirst ? this.vocabulary.find(spelling) : undefined;
    return whole === undefined ? yield* this.mergeWord(spelling) : [whole];
  }

  private *mergeWord(spelling: string): Divided<number[]> {
    const starts = Array.from({ length: spelling.length + 1 }, (_, i) => i);
    const merged = yield* mergePairs(starts, (start, middle, end) =>
      this.ranks.get(`${spelling.slice(start, middle)} ${spelling.slice(middle, end)}`),
    );
    const ids: number[] = [];
    for (let i = 0; i + 1 < merged.length; i++)
      this.appendSymbol(spelling.slice(merged[i], merged[i + 1]), ids);
    return ids;
  }

  /** A merge may make a symbol that is no token: its bytes stand in; a byte that is no token is dropped, as in llama.cpp. */
  private appendSymbol(symbol: string, ids: number[]): void {
    const id = this.vocabulary.find(symbol);
    if (id !== undefined) ids.push(id);
    else if (symbol.length > 1) for (const byte of symbol) this.appendSymbol(byte, ids);
  }
}
