import { toUSVString } from 'node:util';
import { Tokenizer as LibraryTokenizer } from '@huggingface/tokenizers';
import { TokenizerError } from './error.js';
import { addedTokens, isJson, type Json } from './hugging-face-json.js';
import { checkDecode, checkEncode } from './options.js';
import { SpecialTokens } from './special-tokens.js';
import { decodeTokens } from './token-stream.js';
import type { DecodeOptions, EncodeOptions, Tokenizer } from './tokenizer.js';
import { TokenType, type Vocabulary } from './vocabulary.js';
import type { PromptRules } from './vocabulary-tokenizer.js';

// What we use of the library: its own declarations cannot be resolved by TypeScript's NodeNext rules and come out as any.
interface Library {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
}

/** What the folder says, less what the post-processor of tokenizer.json tells. */
export type JsonRules = Omit<PromptRules, 'addBos' | 'addEos' | 'longestToken'> & {
  addBos?: boolean;
  addEos?: boolean;
};

/** A tokenizer.json, run by Hugging Face's own library; ids become text by our rules, which can stream. */
export class HuggingFaceTokenizer implements Tokenizer {
  readonly bos?: number;
  readonly eos?: number;
  readonly eog: ReadonlySet<number>;
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly addSpacePrefix: boolean;
  private readonly parsing: Library;
  private readonly prefix: readonly number[];
  private readonly suffix: readonly number[];
  private readonly isUnigram: boolean;
  private readonly control: SpecialTokens;
  private plain: Library | undefined;

  constructor(
    private readonly json: Json,
    private readonly config: Json,
    private readonly vocabulary: Vocabulary,
    rules: JsonRules,
  ) {
    this.parsing = new LibraryTokenizer(json, config);
    this.isUnigram = isJson(json.model) && Array.isArray(json.model.vocab);
    this.control = new SpecialTokens(vocabulary, new Set([TokenType.control]));
    if (rules.bos !== undefined) this.bos = rules.bos;
    if (rules.eos !== undefined) this.eos = rules.eos;
    this.eog = rules.eog;
    this.addSpacePrefix = rules.addSpacePrefix;
    const template = this.postProcessorTemplate();
    this.prefix = template.prefix.length > 0 || this.bos === undefined ? template.prefix : [this.bos];
    this.suffix = template.suffix.length > 0 || this.eos === undefined ? template.suffix : [this.eos];
    this.addBos = rules.addBos ?? template.prefix.length > 0;
    this.addEos = rules.addEos ?? template.suffix.length > 0;
  }

  get vocabSize(): number {
    return this.vocabulary.size;
  }

  encode(text: string, options: EncodeOptions = {}): number[] {
    checkEncode(text, options);
    if (this.isUnigram) needShortWords(text);
    const ids = this.encodeText(toUSVString(text), options);
    const prefix = (options.addBos ?? this.addBos) ? this.prefix : [];
    const suffix = (options.addEos ?? this.addEos) ? this.suffix : [];
    return [...prefix, ...ids, ...suffix];
  }

  async encodeInTurns(text: string, options?: EncodeOptions): Promise<number[]> {
    return this.encode(text, options);
  }

  private encodeText(text: string, { special, mark }: EncodeOptions): readonly number[] {
    if (special !== 'parse') return idsOf(this.plainText(), text);
    if (!mark || !text.includes(mark)) return idsOf(this.parsing, text);
    return [...this.control.split(text)].flatMap((fragment) =>
      typeof fragment === 'number' ? [fragment] : idsOf(this.plainText(), fragment.replaceAll(mark, '')),
    );
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

  /** The same tokenizer without its special tokens, made when first used. */
  private plainText(): Library {
    const plain: Library = this.plain ?? new LibraryTokenizer(withoutSpecials(this.json), this.config);
    this.plain = plain;
    return plain;
  }

  /** What the post-processor puts before and after a text. */
  private postProcessorTemplate(): { prefix: number[]; suffix: number[] } {
    const bare = this.parsing.encode('a', { add_special_tokens: false }).ids;
    const full = this.parsing.encode('a', { add_special_tokens: true }).ids;
    const start = full.findIndex((_, i) => bare.every((id, j) => full[i + j] === id));
    return start < 0
      ? { prefix: [], suffix: [] }
      : { prefix: full.slice(0, start), suffix: full.slice(start + bare.length) };
  }
}

/** @throws TokenizerError TEXT_TOO_LONG where the tokens of a text, which the library makes arguments of one call, are too many. */
function idsOf(library: Library, text: string): number[] {
  try {
    return library.encode(text, { add_special_tokens: false }).ids;
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new TokenizerError(
      'TEXT_TOO_LONG',
      `a text of ${text.length} characters is too long for the tokenizer of this folder; cut it up`,
      { cause },
    );
  }
}

/** Characters of the longest word that the library's Unigram cuts up in a few seconds; far longer ones overflow its stack. */
const longestWord = 2 ** 16;

/** @throws TokenizerError TEXT_TOO_LONG */
function needShortWords(text: string): void {
  if (text.length <= longestWord) return;
  for (const [word] of text.matchAll(/\S+/g))
    if (word.length > longestWord)
      throw new TokenizerError(
        'TEXT_TOO_LONG',
        `the text has a word of ${word.length} characters; the Unigram tokenizer of a Hugging Face folder cuts up words of at most ${longestWord}`,
      );
}

/** Special tokens are neither found in the text nor, in a Unigram vocabulary, matched as pieces: a lone surrogate never is. */
function withoutSpecials(json: Json): Json {
  const specials = new Set(addedTokens(json).flatMap(({ id, special }) => (special ? [id] : [])));
  const added_tokens = addedTokens(json).filter(({ special }) => !special);
  if (!isJson(json.model) || !Array.isArray(json.model.vocab)) return { ...json, added_tokens };
  const pieces: readonly unknown[] = json.model.vocab;
  const vocab = pieces.map((piece, id) =>
    specials.has(id) && Array.isArray(piece) ? [`\udfff${id}`, piece[1]] : piece,
  );
  return { ...json, added_tokens, model: { ...json.model, vocab } };
}
