import { type Cooperative, eachOf } from '@quern/core';
import { type Alphabet, bytesOrUnknown, characterStarts } from './alphabets.js';
import { mergePairs } from './merge.js';
import { splitText } from './split-text.js';
import type { TextModel } from './tokenizer.js';
import type { Vocabulary } from './vocabulary.js';
import { WordCache } from './word-cache.js';

/** SentencePiece's character for a space. */
export const SPACE_MARK = '\u2581'; // ▁

/** Words of a text with marks, each with its leading marks. */
export const MARKED_WORDS = /\u2581*[^\u2581]+|\u2581+/gu;

const utf8 = new TextEncoder();

/** "▁the" becomes " the". */
export const fromSpaceMarks = (spelling: string): Uint8Array =>
  utf8.encode(spelling.replaceAll(SPACE_MARK, ' '));

/**
 * SentencePiece BPE (Kudo & Richardson 2018): merges the neighbouring pair whose token has the highest score, leftmost
 * first. Symbols without a token become bytes.
 */
export class SentencePieceBpe implements TextModel {
  private readonly fallback: Alphabet['fallback'];
  private readonly words = new WordCache((word) => this.encodeWord(word));

  private constructor(
    private readonly vocabulary: Vocabulary,
    private readonly scores: ArrayLike<number>,
    private readonly addSpacePrefix: boolean,
    unknown: number | undefined,
    private readonly splitsAtSpaces: boolean,
  ) {
    this.fallback = bytesOrUnknown(vocabulary, unknown);
  }

  static *of(
    vocabulary: Vocabulary,
    scores: ArrayLike<number>,
    addSpacePrefix: boolean,
    unknown: number | undefined,
  ): Cooperative<SentencePieceBpe> {
    let splitsAtSpaces = true;
    yield* eachOf(vocabulary.spellings, (spelling) => {
      splitsAtSpaces &&= !/[^\u2581]\u2581/u.test(spelling);
    });
    return new SentencePieceBpe(vocabulary, scores, addSpacePrefix, unknown, splitsAtSpaces);
  }

  encode(text: string, afterSpecial: boolean, ids: number[]): Cooperative<void> {
    const marked = (this.addSpacePrefix && afterSpecial ? ` ${text}` : text).replaceAll(' ', SPACE_MARK);
    return this.words.encodeAll(this.split(marked), ids);
  }

  /** Splits at words if no token crosses the end of a word: the same ids in less time. */
  private split(marked: string): Iterable<string> {
    return this.splitsAtSpaces ? splitText(marked, [MARKED_WORDS]) : marked === '' ? [] : [marked];
  }

  private *encodeWord(word: string): Cooperative<number[]> {
    const merged = yield* mergePairs(characterStarts(word), (start, _, end) => {
      const id = this.vocabulary.find(word.slice(start, end));
      return id === undefined ? undefined : -this.scores[id]!;
    });
    const ids: number[] = [];
    for (let i = 0; i + 1 < merged.length; i++) this.appendSymbol(word.slice(merged[i], merged[i + 1]), ids);
    return ids;
  }

  private appendSymbol(symbol: string, ids: number[]): void {
    const id = this.vocabulary.find(symbol);
    if (id === undefined) ids.push(...this.fallback(symbol));
    else ids.push(id);
  }
}
