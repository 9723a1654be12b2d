import { type Cooperative, eachOf } from '@quern/core';
import { badVocabulary } from '../error.js';
import { mergePairs } from '../merge.js';
import { bytesOf } from './bytes.js';
import { type Fields, isJson } from './fields.js';
import type { Find, ModelTokens } from './model-tokens.js';
import type { Models, WordModel } from './word-model.js';

/** Shared by all BPE models of a file. */
interface Rules {
  /** Key: left · FACTOR + right. Value: rank of the merge. */
  readonly ranks: ReadonlyMap<number, number>;
  /** By rank: the merged token. */
  readonly merged: Int32Array;
  readonly prefix: string;
  readonly suffix: string;
  readonly unknown: number | undefined;
  readonly fusesUnknown: boolean;
  readonly wholeWordsFirst: boolean;
  /** Byte tokens, where the model has byte fallback. */
  readonly bytes: readonly (number | undefined)[] | undefined;
}

const FACTOR = 2 ** 26; // larger than any id: a pair is an exact integer in a double

const SYMBOLS_OF_PART = 1024;

/**
 * Byte-pair encoding (Sennrich et al. 2016): starts from the characters of a word, merges pairs in the order of a list.
 */
export class BpeModel implements WordModel {
  private constructor(
    private readonly rules: Rules,
    private readonly find: Find,
  ) {}

  static *of(fields: Fields, tokens: ModelTokens): Cooperative<Models> {
    const rules = yield* rulesOf(fields, tokens);
    return { parsing: new BpeModel(rules, tokens.find), typed: new BpeModel(rules, tokens.findPlain) };
  }

  *encode(word: string): Cooperative<readonly number[]> {
    const whole = this.rules.wholeWordsFirst ? this.find(word) : undefined;
    if (whole !== undefined) return [whole];
    const ids = yield* this.symbolsOf(word);
    const { ranks, merged } = this.rules;
    const starts = Array.from({ length: ids.length + 1 }, (_, i) => i);
    const rankOf = (left: number, right: number) => ranks.get(ids[left]! * FACTOR + ids[right]!);
    const kept = yield* mergePairs(starts, rankOf, (left, _right, _end, rank) => {
      ids[left] = merged[rank]!;
    });
    return kept.slice(0, -1).map((start) => ids[start]!);
  }

  /**
   * One token per character. A character without a token gives its byte tokens, else the unknown token, else nothing.
   */
  private *symbolsOf(word: string): Cooperative<number[]> {
    const { prefix, suffix, unknown, fusesUnknown } = this.rules;
    const ids: number[] = [];
    let wasUnknown = false;
    let at = 0;
    for (const character of word) {
      const spelling =
        (at > 0 ? prefix : '') + character + (at + character.length === word.length ? suffix : '');
      const found = this.symbol(spelling);
      if (found) ids.push(...found);
      else if (unknown !== undefined && !(fusesUnknown && wasUnknown)) ids.push(unknown);
      wasUnknown = !found;
      at += character.length;
      if (ids.length % SYMBOLS_OF_PART === 0) yield;
    }
    return ids;
  }

  private symbol(spelling: string): readonly number[] | undefined {
    const id = this.find(spelling);
    return id === undefined ? bytesOf(spelling, this.rules.bytes) : [id];
  }
}

function* rulesOf(fields: Fields, tokens: ModelTokens): Cooperative<Rules> {
  const unknown = fields.string('unk_token', '');
  const prefix = fields.string('continuing_subword_prefix', '');
  const { ranks, merged } = yield* mergesOf(fields, prefix, tokens);
  return {
    ranks,
    merged,
    prefix,
    suffix: fields.string('end_of_word_suffix', ''),
    unknown: unknown === '' ? undefined : tokens.need(unknown, 'model.unk_token'),
    fusesUnknown: fields.boolean('fuse_unk', false),
    wholeWordsFirst: fields.boolean('ignore_merges', false),
    bytes: fields.boolean('byte_fallback', false) ? tokens.byteTokens() : undefined,
  };
}

/** Of equal pairs the last one is used. */
function* mergesOf(
  fields: Fields,
  prefix: string,
  tokens: ModelTokens,
): Cooperative<Pick<Rules, 'ranks' | 'merged'>> {
  const merges = fields.list('merges', []);
  const ranks = new Map<number, number>();
  const merged = new Int32Array(merges.length);
  const idOf = (spelling: string, rank: number) =>
    tokens.find(spelling) ?? tokens.need(spelling, placeOf(rank));
  yield* eachOf(merges, (merge, rank) => {
    const [left, right] = pairOf(merge, rank);
    ranks.set(idOf(left, rank) * FACTOR + idOf(right, rank), rank);
    merged[rank] = idOf(left + right.slice(prefix.length), rank);
  });
  return { ranks, merged };
}

/** Location of a merge, for error messages. */
const placeOf = (rank: number): string => `model.merges[${rank}]`;

/** "a b", or in newer files ["a", "b"]. */
export function pairOf(merge: unknown, rank: number): readonly [string, string] {
  if (typeof merge === 'string') {
    const space = merge.indexOf(' ');
    if (space >= 0 && merge.indexOf(' ', space + 1) < 0)
      return [merge.slice(0, space), merge.slice(space + 1)];
  }
  if (Array.isArray(merge) && merge.length === 2) return [String(merge[0]), String(merge[1])];
  const shown = isJson(merge) ? 'an object' : String(JSON.stringify(merge)).slice(0, 60);
  throw badVocabulary(`tokenizer.json: ${placeOf(rank)} is ${shown}; expected two pieces`);
}
