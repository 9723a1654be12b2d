import { type Cooperative, eachOf } from '@quern/core';
import type { Alphabet } from './alphabets.js';
import { mergePairs } from './merge.js';
import type { TextModel } from './tokenizer.js';
import type { Vocabulary } from './vocabulary.js';
import { WordCache } from './word-cache.js';

/** Symbols between two pauses. */
const SYMBOLS_OF_PART = 4096;

/** A file's rules for spelling, splitting and merging text. */
export interface MergeListRules {
  readonly alphabet: Alphabet;
  /** The words of a text. */
  readonly wordsOf: (text: string) => Iterable<string>;
  /** Whether a word that is a token is taken whole, without merges. */
  readonly takesWhole: (word: string) => boolean;
}

/**
 * BPE with a merge list (Sennrich et al. 2016): splits text into words; within a word, the merge that is first in the
 * list goes first. Over bytes (Radford et al. 2019, GPT-2): Llama 3, Qwen, Mistral's tekken and many more. Over
 * characters: Gemma 4.
 */
export class MergeListBpe implements TextModel {
  private readonly words = new WordCache((word) => this.encodeWord(word));

  private constructor(
    private readonly vocabulary: Vocabulary,
    private readonly ranks: ReadonlyMap<string, number>,
    private readonly rules: MergeListRules,
  ) {}

  /**
   * @param merges "left right", best first
   */
  static *of(
    vocabulary: Vocabulary,
    merges: readonly string[],
    rules: MergeListRules,
  ): Cooperative<MergeListBpe> {
    const ranks = new Map<string, number>();
    yield* eachOf(merges, (merge, rank) => {
      if (!ranks.has(merge)) ranks.set(merge, rank);
    });
    return new MergeListBpe(vocabulary, ranks, rules);
  }

  encode(text: string, _afterSpecial: boolean, ids: number[]): Cooperative<void> {
    return this.words.encodeAll(this.rules.wordsOf(text), ids);
  }

  private *encodeWord(word: string): Cooperative<number[]> {
    const spelling = this.rules.alphabet.spell(word);
    const whole = this.rules.takesWhole(word) ? this.vocabulary.find(spelling) : undefined;
    return whole === undefined ? yield* this.mergeWord(spelling) : [whole];
  }

  private *mergeWord(spelling: string): Cooperative<number[]> {
    const merged = yield* mergePairs(this.rules.alphabet.starts(spelling), (start, middle, end) =>
      this.ranks.get(`${spelling.slice(start, middle)} ${spelling.slice(middle, end)}`),
    );
    const ids: number[] = [];
    for (let i = 0; i + 1 < merged.length; i++) {
      if (i % SYMBOLS_OF_PART === SYMBOLS_OF_PART - 1) yield;
      const symbol = spelling.slice(merged[i], merged[i + 1]);
      const id = this.vocabulary.find(symbol);
      if (id === undefined) ids.push(...this.rules.alphabet.fallback(symbol));
      else ids.push(id);
    }
    return ids;
  }
}
