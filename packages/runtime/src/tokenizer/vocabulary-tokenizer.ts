import { checkDecode, checkEncode } from './options.js';
import { SpecialTokens } from './special-tokens.js';
import { decodeTokens } from './token-stream.js';
import type { DecodeOptions, EncodeOptions, TextModel, Tokenizer } from './tokenizer.js';
import { TokenType, type Vocabulary } from './vocabulary.js';

/** What a model file says about its special tokens and about the ends of a prompt. */
export interface PromptRules {
  bos: number | undefined;
  eos: number | undefined;
  eog: ReadonlySet<number>;
  addBos: boolean;
  addEos: boolean;
  addSpacePrefix: boolean;
}

const ALL_SPECIAL = new Set<number>([TokenType.control, TokenType.unknown, TokenType.user]);
const ONLY_USER = new Set<number>([TokenType.user]);

/** A text that no longer has lone surrogates: each is U+FFFD, as in UTF-8. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/** A tokenizer made of a vocabulary and the model that cuts plain text. */
export class VocabularyTokenizer implements Tokenizer {
  readonly bos?: number;
  readonly eos?: number;
  readonly eog: ReadonlySet<number>;
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly addSpacePrefix: boolean;
  private readonly allSpecial: SpecialTokens;
  private readonly userTokens: SpecialTokens;

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly model: TextModel,
    rules: PromptRules,
  ) {
    if (rules.bos !== undefined) this.bos = rules.bos;
    if (rules.eos !== undefined) this.eos = rules.eos;
    this.eog = rules.eog;
    this.addBos = rules.addBos;
    this.addEos = rules.addEos;
    this.addSpacePrefix = rules.addSpacePrefix;
    this.allSpecial = new SpecialTokens(vocabulary, ALL_SPECIAL);
    this.userTokens = new SpecialTokens(vocabulary, ONLY_USER);
  }

  get vocabSize(): number {
    return this.vocabulary.size;
  }

  encode(text: string, options: EncodeOptions = {}): number[] {
    checkEncode(text, options);
    const ids: number[] = [];
    if ((options.addBos ?? this.addBos) && this.bos !== undefined) ids.push(this.bos);
    const special = options.special === 'parse' ? this.allSpecial : this.userTokens;
    let afterSpecial = true;
    for (const fragment of special.split(wellFormed(text))) {
      if (typeof fragment === 'number') ids.push(fragment);
      else for (const id of this.model.encode(fragment, afterSpecial)) ids.push(id);
      afterSpecial = typeof fragment === 'number';
    }
    if ((options.addEos ?? this.addEos) && this.eos !== undefined) ids.push(this.eos);
    return ids;
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
