import type { Cooperative } from '@quern/core';
import { badVocabulary } from '../error.js';
import { bestPath, lengthsOf, UNKNOWN_PENALTY } from '../viterbi.js';
import { bytesOf } from './bytes.js';
import type { Fields } from './fields.js';
import type { Find, ModelTokens } from './model-tokens.js';
import type { WordModel } from './word-model.js';

const NONE = -1;

/**
 * Unigram language model (Kudo 2018), as in Hugging Face: consecutive unknown characters become one token, or bytes.
 */
export class UnigramModel implements WordModel {
  private readonly scores: Float64Array;
  private readonly lengths: readonly number[];
  private readonly unknown: number;
  private readonly unknownScore: number;
  private readonly bytes: readonly (number | undefined)[] | undefined;

  constructor(
    fields: Fields,
    tokens: ModelTokens,
    private readonly find: Find,
  ) {
    this.scores = Float64Array.from(fields.list('vocab'), scoreOf);
    this.lengths = lengthsOf(tokens.entries.map(([spelling]) => spelling));
    const lowest = this.scores.reduce((least, score) => Math.min(least, score), Number.POSITIVE_INFINITY);
    this.unknownScore = lowest - UNKNOWN_PENALTY;
    this.unknown = unknownOf(fields, this.scores.length);
    this.bytes = fields.boolean('byte_fallback', false) ? tokens.byteTokens() : undefined;
  }

  *encode(word: string): Cooperative<readonly number[]> {
    const { tokens, starts } = yield* bestPath(word, {
      find: this.find,
      score: (id) => this.scores[id]!,
      lengths: this.lengths,
      unknown: this.unknown,
      unknownScore: this.unknownScore,
    });
    const backwards: number[] = [];
    for (let end = word.length; end > 0; ) {
      const start = tokens[end] === this.unknown ? startOfUnknown(tokens, starts, end) : starts[end]!;
      const ids = tokens[end] === this.unknown ? this.unknownText(word.slice(start, end)) : [tokens[end]!];
      for (let i = ids.length - 1; i >= 0; i--) backwards.push(ids[i]!);
      end = start;
    }
    return backwards.reverse();
  }

  private unknownText(text: string): readonly number[] {
    const id = this.find(text);
    if (id !== undefined) return [id];
    const bytes = bytesOf(text, this.bytes);
    if (bytes) return bytes;
    if (this.unknown !== NONE) return [this.unknown];
    throw badVocabulary(
      `no token for "${text.slice(0, 60)}": the vocabulary lacks it, and model.unk_id names no unknown token`,
    );
  }
}

function unknownOf(fields: Fields, size: number): number {
  if ((fields.json.unk_id ?? undefined) === undefined) return NONE;
  const id = fields.count('unk_id');
  if (id < size) return id;
  throw badVocabulary(
    `tokenizer.json: model.unk_id is ${id}, but the ids of the vocabulary are 0 to ${size - 1}`,
  );
}

/** Start of the run of unknown characters that ends here. */
function startOfUnknown(tokens: Int32Array, starts: Int32Array, end: number): number {
  const unknown = tokens[end];
  let start = starts[end]!;
  while (start > 0 && tokens[start] === unknown) start = starts[start]!;
  return start;
}

function scoreOf(piece: unknown, id: number): number {
  const score: unknown = Array.isArray(piece) ? piece[1] : undefined;
  if (typeof score === 'number') return score;
  throw badVocabulary(`tokenizer.json: model.vocab[${id}] is not a piece and its score`);
}
