import { type Cooperative, eachOf } from '@quern/core';
import type { Charsmap } from './charsmap.js';
import { SPACE_MARK } from './sentencepiece-bpe.js';
import type { TextModel } from './tokenizer.js';
import { bestPath, lengthsOf, UNKNOWN_PENALTY } from './viterbi.js';
import { TokenType, type Vocabulary } from './vocabulary.js';

export interface UnigramOptions {
  /** The token for characters without a token. */
  unknown: number;
  addSpacePrefix: boolean;
  /** Runs of spaces count as one space; spaces at both ends are dropped. */
  removeExtraSpaces: boolean;
  charsmap?: Charsmap | undefined;
}

/**
 * Unigram language model (Kudo 2018): of all segmentations of the text, the one with the highest sum of scores
 * (Viterbi).
 */
export class Unigram implements TextModel {
  private constructor(
    private readonly vocabulary: Vocabulary,
    private readonly scores: ArrayLike<number>,
    private readonly options: UnigramOptions,
    /** Lengths of the tokens that text may become, ascending. */
    private readonly lengths: readonly number[],
    private readonly unknownScore: number,
  ) {}

  static *of(
    vocabulary: Vocabulary,
    scores: ArrayLike<number>,
    options: UnigramOptions,
  ): Cooperative<Unigram> {
    const found: string[] = [];
    let lowest = 0;
    yield* eachOf(vocabulary.spellings, (spelling, id) => {
      if (vocabulary.find(spelling) === id) found.push(spelling);
      if (vocabulary.types[id] === TokenType.normal) lowest = Math.min(lowest, scores[id]!);
    });
    return new Unigram(vocabulary, scores, options, lengthsOf(found), lowest - UNKNOWN_PENALTY);
  }

  *encode(text: string, _afterSpecial: boolean, ids: number[]): Cooperative<void> {
    const normal = yield* this.normalize(text);
    if (normal !== '') yield* this.trace(normal, ids);
  }

  private *normalize(text: string): Cooperative<string> {
    const { charsmap, removeExtraSpaces, addSpacePrefix } = this.options;
    let normal = charsmap ? yield* charsmap.normalize(text) : text;
    if (removeExtraSpaces) normal = normal.replace(/ +/g, ' ').replace(/^ | $/g, '');
    if (addSpacePrefix && normal !== '') normal = ` ${normal}`;
    return normal.replaceAll(' ', SPACE_MARK);
  }

  /** Follows the best path from the end to the start; consecutive unknown characters become one unknown token. */
  private *trace(text: string, ids: number[]): Cooperative<void> {
    const { tokens, starts } = yield* bestPath(text, {
      find: (spelling) => this.vocabulary.find(spelling),
      score: (id) => this.score(id),
      lengths: this.lengths,
      unknown: this.options.unknown,
      unknownScore: this.unknownScore,
    });
    const backwards: number[] = [];
    for (let end = text.length; end > 0; end = starts[end]!) {
      const id = tokens[end]!;
      if (id !== this.options.unknown || backwards.at(-1) !== id) backwards.push(id);
    }
    for (let i = backwards.length - 1; i >= 0; i--) ids.push(backwards[i]!);
  }

  /** A user-defined token is always preferred. */
  private score(id: number): number {
    return this.vocabulary.types[id] === TokenType.user ? 0 : this.scores[id]!;
  }
}
