import { toUSVString } from 'node:util';
import { type Cooperative, runAtOnce, runInTurns } from '@quern/core';
import type { FimTokens } from './fim-tokens.js';
import { checkDecode, checkEncode, checkEncodeInTurns } from './options.js';
import type { Fragment } from './special-tokens.js';
import type { Strips } from './strips.js';
import { type MatchedToken, TokenMatcher } from './token-matcher.js';
import { decodeTokens } from './token-stream.js';
import type {
  DecodeOptions,
  EncodeInTurnsOptions,
  EncodeOptions,
  TextModel,
  Tokenizer,
} from './tokenizer.js';
import { untilFull } from './until-full.js';
import { TokenType, type Vocabulary } from './vocabulary.js';

/** The model file's special tokens, and its tokens at both ends of a prompt. */
export interface PromptRules {
  bos: number | undefined;
  eos: number | undefined;
  eog: ReadonlySet<number>;
  addBos: boolean;
  addEos: boolean;
  addSpacePrefix: boolean;
  /** Tokens whose match includes white space beside it. */
  strips: Strips;
  /** As in `Tokenizer`. */
  longestToken: number | undefined;
  fim: FimTokens | undefined;
}

const ALL_SPECIAL = new Set<number>([TokenType.control, TokenType.unknown, TokenType.user]);
const ONLY_USER = new Set<number>([TokenType.user]);

/** The special tokens of these types, for a search by spelling. */
function* matched(
  { size, types, spellings }: Vocabulary,
  { left, right }: Strips,
  wanted: ReadonlySet<number>,
): Generator<readonly [spelling: string, token: MatchedToken]> {
  for (let id = 0; id < size; id++) {
    if (!wanted.has(types[id]!)) continue;
    const special = types[id] !== TokenType.user;
    const [lstrip, rstrip] = [left.has(id), right.has(id)];
    yield [spellings[id]!, { id, special, singleWord: false, lstrip, rstrip }];
  }
}

/** A tokenizer from a vocabulary and a model for plain text. */
export class VocabularyTokenizer implements Tokenizer {
  readonly bos?: number;
  readonly eos?: number;
  readonly eog: ReadonlySet<number>;
  readonly fim?: FimTokens;
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly addSpacePrefix: boolean;
  readonly longestToken?: number;
  private readonly allSpecial: TokenMatcher;
  private readonly userTokens: TokenMatcher;

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly model: TextModel,
    rules: PromptRules,
  ) {
    if (rules.bos !== undefined) this.bos = rules.bos;
    if (rules.eos !== undefined) this.eos = rules.eos;
    this.eog = rules.eog;
    if (rules.fim) this.fim = rules.fim;
    this.addBos = rules.addBos;
    this.addEos = rules.addEos;
    this.addSpacePrefix = rules.addSpacePrefix;
    if (rules.longestToken !== undefined) this.longestToken = rules.longestToken;
    this.allSpecial = new TokenMatcher(matched(vocabulary, rules.strips, ALL_SPECIAL));
    this.userTokens = new TokenMatcher(matched(vocabulary, rules.strips, ONLY_USER));
  }

  get vocabSize(): number {
    return this.vocabulary.size;
  }

  encode(text: string, options: EncodeOptions = {}): number[] {
    checkEncode(text, options);
    return runAtOnce(this.idsOf(text, options));
  }

  async encodeInTurns(text: string, options: EncodeInTurnsOptions = {}): Promise<number[]> {
    checkEncodeInTurns(text, options);
    return runInTurns(this.idsOf(text, options));
  }

  private *idsOf(text: string, options: EncodeInTurnsOptions): Cooperative<number[]> {
    const { limit = Number.POSITIVE_INFINITY } = options;
    const ids: number[] = [];
    if ((options.addBos ?? this.addBos) && this.bos !== undefined) ids.push(this.bos);
    let afterSpecial = true;
    for (const fragment of this.fragments(toUSVString(text), options)) {
      if (fragment === undefined) {
        yield;
        continue;
      }
      if (typeof fragment === 'number') ids.push(fragment);
      else yield* untilFull(this.model.encode(fragment, afterSpecial, ids), ids, limit);
      if (ids.length > limit) return ids;
      afterSpecial = typeof fragment === 'number';
    }
    if ((options.addEos ?? this.addEos) && this.eos !== undefined) ids.push(this.eos);
    return ids;
  }

  /** Text with the mark is typed text: only user-defined tokens are searched in it. */
  private *fragments(text: string, { special, mark }: EncodeOptions): Generator<Fragment | undefined, void> {
    if (special !== 'parse') return yield* this.userTokens.split(text, false);
    for (const fragment of this.allSpecial.split(text, false)) {
      if (mark && typeof fragment === 'string' && fragment.includes(mark))
        yield* this.userTokens.split(fragment.replaceAll(mark, ''), false);
      else yield fragment;
    }
  }

  decode(ids: Iterable<number>, options: DecodeOptions = {}): string {
    checkDecode(ids, options);
    return decodeTokens(this, ids, options);
  }

  tokenBytes(id: number): Uint8Array {
    return this.vocabulary.bytes(id);
  }

  tokenText(id: number): string {
    return this.vocabulary.spelling(id);
  }

  isControl(id: number): boolean {
    return this.vocabulary.isControl(id);
  }
}
