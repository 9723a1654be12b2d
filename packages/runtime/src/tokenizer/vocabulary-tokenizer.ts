import { toUSVString } from 'node:util';
import { type Cooperative, eachOf, runAtOnce, runInTurns } from '@quern/core';
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

type Matched = readonly [spelling: string, token: MatchedToken];

const SEARCHED: ReadonlySet<number> = new Set([TokenType.control, TokenType.unknown, TokenType.user]);

/** The special and user-defined tokens, for a search by spelling. */
function* searchedTokens({ types, spellings }: Vocabulary, { left, right }: Strips): Cooperative<Matched[]> {
  const found: Matched[] = [];
  yield* eachOf(spellings, (spelling, id) => {
    if (!SEARCHED.has(types[id]!)) return;
    const special = types[id] !== TokenType.user;
    const [lstrip, rstrip] = [left.has(id), right.has(id)];
    found.push([spelling, { id, special, singleWord: false, lstrip, rstrip }]);
  });
  return found;
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

  private constructor(
    private readonly vocabulary: Vocabulary,
    private readonly model: TextModel,
    rules: PromptRules,
    searched: readonly Matched[],
  ) {
    if (rules.bos !== undefined) this.bos = rules.bos;
    if (rules.eos !== undefined) this.eos = rules.eos;
    this.eog = rules.eog;
    if (rules.fim) this.fim = rules.fim;
    this.addBos = rules.addBos;
    this.addEos = rules.addEos;
    this.addSpacePrefix = rules.addSpacePrefix;
    if (rules.longestToken !== undefined) this.longestToken = rules.longestToken;
    this.allSpecial = new TokenMatcher(searched);
    this.userTokens = new TokenMatcher(searched.filter(([, { special }]) => !special));
  }

  static *of(vocabulary: Vocabulary, model: TextModel, rules: PromptRules): Cooperative<VocabularyTokenizer> {
    return new VocabularyTokenizer(vocabulary, model, rules, yield* searchedTokens(vocabulary, rules.strips));
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
