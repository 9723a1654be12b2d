import { type Divided, eachOf } from '@quern/core';
import type { Charsmap } from './charsmap.js';
import { SPACE_MARK } from './sentencepiece-bpe.js';
import type { TextModel } from './tokenizer.js';
import { TokenType, type Vocabulary } from './vocabulary.js';

export interface UnigramOptions {
  /** The token for characters that no token spells. */
  unknown: number;
  addSpacePrefix: boolean;
  /** Runs of spaces count as one, and spaces at the ends as none. */
  removeExtraSpaces: boolean;
  charsmap?: Charsmap | undefined;
}

/** Between two turns of other work. */
const CHARACTERS_OF_PART = 1024;
const UNKNOWN_PENALTY = 10; // SentencePiece's kUnkPenalty, below the lowest score

/** Unigram language model (Kudo 2018): of all ways to cut the text into tokens, the one with the highest sum of scores (Viterbi). */
export class Unigram implements TextModel {
  private constructor(
    private readonly vocabulary: Vocabulary,
    private readonly scores: ArrayLike<number>,
    private readonly options: UnigramOptions,
    /** Of the tokens that text may become, the shortest first. */
    private readonly lengths: readonly number[],
    private readonly unknownScore: number,
  ) {}

  static *of(vocabulary: Vocabulary, scores: ArrayLike<number>, options: UnigramOptions): Divided<Unigram> {
    const found = new Set<number>();
    let lowest = 0;
    yield* eachOf(vocabulary.spellings, (spelling, id) => {
      if (vocabulary.find(spelling) === id) found.add(spelling.length);
      if (vocabulary.types[id] === TokenType.normal) lowest = Math.min(lowest, scores[id]!);
    });
    const lengths = [...found].filter((length) => length > 0).sort((a, b) => a - b);
    return new Unigram(vocabulary, scores, options, lengths, lowest - UNKNOWN_PENALTY);
  }

  *encode(text: string, _afterSpecial: boolean, ids: number[]): Divided<void> {
    const normal = yield* this.normalize(text);
    if (normal !== '') yield* this.trace(normal, ids);
  }

  private *normalize(text: string): Divided<string> {
    const { charsmap, removeExtraSpaces, addSpacePrefix } = this.options;
    let normal = charsmap ? yield* charsmap.normalize(text) : text;
    if (removeExtraSpaces) normal = normal.replace(/ +/g, ' ').replace(/^ | $/g, '');
    if (addSpacePrefix && normal !== '') normal = ` ${normal}`;
    return normal.replaceAll(' ', SPACE_MARK);
  }

  /** The best path, from its end to its start; unknown characters in a row become one unknown token. */
  private *trace(text: string, ids: number[]): Divided<void> {
    const { tokens, starts } = yield* this.search(text);
    const backwards: number[] = [];
    for (let end = text.length; end > 0; end = starts[end]!) {
      const id = tokens[end]!;
      if (id !== this.options.unknown || backwards.at(-1) !== id) backwards.push(id);
    }
    for (let i = backwards.length - 1; i >= 0; i--) ids.push(backwards[i]!);
  }

  /** For every position: the last token of the best way to get there, and where that token starts. */
  private *search(text: string): Divided<{ tokens: Int32Array; starts: Int32Array }> {
    const best = new Float64Array(text.length + 1).fill(Number.NEGATIVE_INFINITY);
    const tokens = new Int32Array(text.length + 1);
    const starts = new Int32Array(text.length + 1);
    const reach = (start: number, end: number, id: number, score: number) => {
      if (best[start]! + score <= best[end]!) return;
      best[end] = best[start]! + score;
      tokens[end] = id;
      starts[end] = start;
    };

    best[0] = 0;
    for (let start = 0; start < text.length; ) {
      const character = text.codePointAt(start)! > 0xffff ? 2 : 1;
      let isKnown = false;
      for (const length of this.lengths) {
        if (start + length > text.length) break;
        const id = this.vocabulary.find(text.slice(start, start + length));
        if (id === undefined) continue;
        reach(start, start + length, id, this.score(id));
        isKnown ||= length === character;
      }
      if (!isKnown) reach(start, start + character, this.options.unknown, this.unknownScore);
      start += character;
      if (start % CHARACTERS_OF_PART < character) yield;
    }
    return { tokens, starts };
  }

  /** A token that the user defined is always preferred. */
  private score(id: number): number {
    return this.vocabulary.types[id] === TokenType.user ? 0 : this.scores[id]!;
  }
}
