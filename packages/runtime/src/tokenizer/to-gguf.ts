import { join } from 'node:path';
import { runAtOnce } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import { badVocabulary, TokenizerError } from './error.js';
import { jsonVocabulary, readJson, tokenizerFromHuggingFace } from './hugging-face.js';
import type { AddedToken } from './json/added-tokens.js';
import { pairOf } from './json/bpe.js';
import { isJson, type Json } from './json/fields.js';
import { o200kSource } from './json/known-patterns.js';
import { otherTokens } from './other-tokens.js';
import { SPACE_MARK } from './sentencepiece-bpe.js';
import { type Origin, storedEntries } from './stored-json.js';
import type { Tokenizer } from './tokenizer.js';
import { TokenType, type Vocabulary } from './vocabulary.js';
import { toMarked } from './word-piece-marks.js';

export interface GgufVocabularyOptions {
  /** Rows of the model's embedding; ids beyond the tokenizer's become unused tokens. */
  readonly size: number;
  /** llama.cpp's name of the pre-tokenizer, where it does not follow from tokenizer.json. */
  readonly pre?: string;
  readonly onNotice?: ((message: string) => void) | undefined;
}

type Entries = Map<string, MetadataInput>;

/**
 * The vocabulary of a Hugging Face folder as `tokenizer.*` metadata of a GGUF file, for `tokenizerFromGguf`: llama.cpp's
 * keys, and keys of our own for what they cannot say.
 * @throws TokenizerError BAD_VOCABULARY, UNKNOWN_TOKENIZER or UNKNOWN_PRETOKENIZER.
 */
export async function vocabularyToGguf(folder: string, options: GgufVocabularyOptions): Promise<Entries> {
  const origin = await readOrigin(folder);
  const entries = llamaCppEntries(origin, options);
  const own = storedEntries(origin, entries);
  const other = await otherTokens(origin.tokenizer, origin.added, entries, folder);
  if (other !== undefined) options.onNotice?.(noticeOf(folder, other));
  return new Map([...entries, ...own]);
}

async function readOrigin(folder: string): Promise<Origin> {
  const tokenizer = await tokenizerFromHuggingFace(folder); // reports faults of the files
  const json = (await readJson(join(folder, 'tokenizer.json'))) ?? {};
  const tokenizerConfig = {
    ...(await readJson(join(folder, 'special_tokens_map.json'))),
    ...(await readJson(join(folder, 'tokenizer_config.json'))),
  };
  const parts = runAtOnce(jsonVocabulary(json, tokenizerConfig));
  return { ...parts, json, tokenizerConfig, tokenizer, isWordPiece: isWordPiece(json) };
}

/** The keys that llama.cpp reads. */
function llamaCppEntries(origin: Origin, options: GgufVocabularyOptions): Entries {
  const { json, tokenizerConfig, vocabulary, added, tokenizer } = origin;
  const spellings = writtenSpellings(json, vocabulary.spellings, added);
  const { tokens, tokenTypes } = padded(spellings, searchedTypes(vocabulary, added), options.size);
  const entries: Entries = new Map<string, MetadataInput>(kindEntries(json, tokens, options));
  entries.set('tokenizer.ggml.tokens', origin.isWordPiece ? marked(tokens, tokenTypes) : tokens);
  entries.set('tokenizer.ggml.token_type', tokenTypes);
  for (const [key, value] of settingEntries(tokenizer, tokenizerConfig, vocabulary.spellings))
    entries.set(key, value);
  return entries;
}

/** llama.cpp searches added tokens in texts by their type: control or user-defined. */
function searchedTypes({ types }: Vocabulary, added: readonly AddedToken[]): Uint8Array {
  const searched = Uint8Array.from(types);
  for (const { id, special } of added) if (!special) searched[id] = TokenType.user;
  return searched;
}

/** llama.cpp shows a user-defined token as it is spelled: spaces, no marks. */
function writtenSpellings(json: Json, spellings: readonly string[], added: readonly AddedToken[]) {
  if (steps(json.decoder).some(({ type }) => type === 'ByteLevel')) return spellings;
  const written = [...spellings];
  for (const { id, special, content } of added)
    if (!special) written[id] = content.replaceAll(SPACE_MARK, ' ');
  return written;
}

function* settingEntries(
  tokenizer: Tokenizer,
  config: Json,
  tokens: readonly string[],
): Generator<[string, MetadataInput]> {
  for (const [key, name] of specialKeys) {
    const spelling = spellingOf(config[key]);
    const id = spelling === undefined ? -1 : tokens.indexOf(spelling);
    if (id >= 0) yield [`tokenizer.ggml.${name}_token_id`, id];
  }
  const [first, last] = endsOf(tokenizer);
  const [bos, eos] = [tokenizer.bos ?? first, tokenizer.eos ?? last];
  if (bos !== undefined) yield ['tokenizer.ggml.bos_token_id', bos];
  if (eos !== undefined) yield ['tokenizer.ggml.eos_token_id', eos];
  const otherEnd = [...tokenizer.eog].find((id) => id !== tokenizer.eos);
  if (otherEnd !== undefined) yield ['tokenizer.ggml.eot_token_id', otherEnd];
  yield ['tokenizer.ggml.add_bos_token', tokenizer.addBos];
  yield ['tokenizer.ggml.add_eos_token', tokenizer.addEos];
}

const noticeOf = (folder: string, text: string): string =>
  `${folder}: tokenizer.json has rules that llama.cpp has no keys for. Quern reads them from quern.tokenizer.json; llama.cpp gives other tokens, for example for ${JSON.stringify(text)}`;

/** The token before and the token after every text, where exactly one exists: BERT's [CLS] and [SEP]. */
function endsOf(tokenizer: Tokenizer): readonly (number | undefined)[] {
  const [before, after] = [
    tokenizer.encode('', { addBos: true, addEos: false }),
    tokenizer.encode('', { addBos: false, addEos: true }),
  ];
  return [before.length === 1 ? before[0] : undefined, after.length === 1 ? after[0] : undefined];
}

/** Keys of tokenizer_config.json, and llama.cpp's names for them. */
const specialKeys = [
  ['bos_token', 'bos'],
  ['eos_token', 'eos'],
  ['unk_token', 'unknown'],
  ['sep_token', 'seperator'],
  ['pad_token', 'padding'],
  ['cls_token', 'cls'],
  ['mask_token', 'mask'],
] as const;

const spellingOf = (value: unknown): string | undefined => {
  const content = isJson(value) ? value.content : value;
  return typeof content === 'string' ? content : undefined;
};

/** Pads to `size` tokens, the rows of the embedding; ids without a token become unused tokens "[PAD…]". */
function padded(spellings: readonly string[], types: Uint8Array, size: number) {
  if (spellings.length > size)
    throw badVocabulary(`the tokenizer has ${spellings.length} tokens, but the embedding ${size} rows`);
  const tokens = Array.from({ length: size }, (_, id) => spellings[id] || `[PAD${id}]`);
  const tokenTypes = Int32Array.from(tokens, (_, id) => (spellings[id] ? types[id]! : TokenType.unused));
  return { tokens, tokenTypes };
}

/** Metadata that depends on the kind of tokenizer. */
function kindEntries(
  json: Json,
  tokens: readonly string[],
  { pre }: GgufVocabularyOptions,
): [string, MetadataInput][] {
  const model = isJson(json.model) ? json.model : {};
  const isByteLevel = steps(json.decoder).some(({ type }) => type === 'ByteLevel');
  if (Array.isArray(model.vocab)) return unigramEntries(json, model.vocab, tokens.length);
  if (isWordPiece(json)) return wordPieceEntries(json, tokens);
  if (!isJson(model.vocab))
    throw new TokenizerError(
      'UNKNOWN_TOKENIZER',
      `a tokenizer.json of type ${String(model.type)} cannot be written to GGUF: BPE, WordPiece and Unigram can`,
    );
  const merges = mergesOf(model);
  if (isByteLevel)
    return [
      ['tokenizer.ggml.model', 'gpt2'],
      ['tokenizer.ggml.pre', pre ?? preTokenizerName(json, model)],
      ['tokenizer.ggml.merges', { type: 'array', value: merges.map(([a, b]) => `${a} ${b}`) }],
    ];
  return [
    ['tokenizer.ggml.model', 'llama'],
    ['tokenizer.ggml.pre', 'default'],
    ['tokenizer.ggml.scores', scoresOfMerges(merges, tokens)],
    ['tokenizer.ggml.add_space_prefix', prependsSpace(json)],
  ];
}

const isWordPiece = ({ model }: Json): boolean =>
  isJson(model) &&
  (model.type === 'WordPiece' ||
    (model.type === undefined && typeof model.continuing_subword_prefix === 'string'));

/** llama.cpp supports one kind of WordPiece: BERT's uncased. */
function wordPieceEntries(json: Json, tokens: readonly string[]): [string, MetadataInput][] {
  const [normalizer, ...more] = steps(json.normalizer);
  const model = isJson(json.model) ? json.model : {};
  const uncased =
    normalizer?.type === 'BertNormalizer' &&
    more.length === 0 &&
    normalizer.lowercase === true &&
    normalizer.strip_accents !== false &&
    normalizer.handle_chinese_chars !== false;
  if (!uncased || (model.continuing_subword_prefix ?? '##') !== '##')
    throw new TokenizerError(
      'UNKNOWN_TOKENIZER',
      'tokenizer.json is a WordPiece that keeps case or accents, or marks parts of words otherwise than by ##; GGUF files have BERT’s uncased alone',
    );
  const unknown = tokens.indexOf(typeof model.unk_token === 'string' ? model.unk_token : '[UNK]');
  return [
    ['tokenizer.ggml.model', 'bert'],
    ['tokenizer.ggml.pre', 'default'],
    ...(unknown >= 0 ? [['tokenizer.ggml.unknown_token_id', unknown] as [string, MetadataInput]] : []),
  ];
}

const marked = (tokens: readonly string[], types: Int32Array): string[] =>
  tokens.map((token, id) => (types[id] === TokenType.normal ? toMarked(token) : token));

function mergesOf(model: Json): (readonly [string, string])[] {
  const list: readonly unknown[] = Array.isArray(model.merges) ? model.merges : [];
  return list.map(pairOf);
}

/**
 * SentencePiece merges the pair whose token has the highest score: score = −rank of the merge. Tokens without a merge
 * come last.
 */
function scoresOfMerges(
  merges: readonly (readonly [string, string])[],
  tokens: readonly string[],
): Float32Array<ArrayBuffer> {
  const ranks = new Map<string, number>();
  for (const [rank, [a, b]] of merges.entries()) if (!ranks.has(a + b)) ranks.set(a + b, rank);
  return Float32Array.from(tokens, (token) => -(ranks.get(token) ?? merges.length));
}

function unigramEntries(json: Json, vocab: readonly unknown[], size: number): [string, MetadataInput][] {
  const scores = new Float32Array(size);
  for (const [id, piece] of vocab.entries()) scores[id] = Array.isArray(piece) ? Number(piece[1]) : 0;
  const model = isJson(json.model) ? json.model : {};
  const charsmap = steps(json.normalizer).find(({ type }) => type === 'Precompiled')?.precompiled_charsmap;
  const entries: [string, MetadataInput][] = [
    ['tokenizer.ggml.model', 't5'],
    ['tokenizer.ggml.pre', 'default'],
    ['tokenizer.ggml.scores', scores],
    ['tokenizer.ggml.add_space_prefix', prependsSpace(json)],
    ['tokenizer.ggml.remove_extra_whitespaces', joinsSpaces(json)],
  ];
  if (typeof model.unk_id === 'number') entries.push(['tokenizer.ggml.unknown_token_id', model.unk_id]);
  if (typeof charsmap === 'string')
    entries.push(['tokenizer.ggml.precompiled_charsmap', new Uint8Array(Buffer.from(charsmap, 'base64'))]);
  return entries;
}

/** The steps of a normalizer, pre-tokenizer or decoder, with nested sequences flattened. */
function steps(value: unknown): Json[] {
  if (!isJson(value)) return [];
  const nested = value.normalizers ?? value.pretokenizers ?? value.decoders;
  return Array.isArray(nested) ? nested.flatMap(steps) : [value];
}

/** Whether encoding adds a space before a text. */
const prependsSpace = (json: Json): boolean =>
  [...steps(json.normalizer), ...steps(json.pre_tokenizer)].some(
    (step) =>
      step.type === 'Prepend' ||
      (step.type === 'Metaspace' && step.prepend_scheme !== 'never' && step.add_prefix_space !== false),
  );

/** Whether encoding joins runs of spaces to one. */
const joinsSpaces = (json: Json): boolean =>
  steps(json.pre_tokenizer).some(({ type }) => type === 'WhitespaceSplit') ||
  steps(json.normalizer).some(
    ({ type, pattern }) =>
      type === 'Replace' && isJson(pattern) && /^ (\{2,\}|\+)$/.test(String(pattern.Regex)),
  );

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const words = String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`;
const rest = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** Splitting patterns of tokenizer.json files, with llama.cpp's names. */
const patternNames: ReadonlyMap<string, string> = new Map([
  [String.raw`${contractions}|${words}|\p{N}{1,3}|${rest}`, 'llama-bpe'],
  [String.raw`${contractions}|${words}|\p{N}|${rest}`, 'qwen2'],
  [
    String.raw`${contractions}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
    'qwen35',
  ],
  [o200kSource, 'gpt-4o'],
]);

/** llama.cpp's name for the pre-tokenizer of a byte-level tokenizer. @throws TokenizerError UNKNOWN_PRETOKENIZER. */
function preTokenizerName(json: Json, model: Json): string {
  const all = steps(json.pre_tokenizer);
  const patterns = all.flatMap(({ pattern }) => (isJson(pattern) ? [String(pattern.Regex)] : []));
  const name = patterns.length === 1 ? patternNames.get(patterns[0]!) : undefined;
  if (name === 'llama-bpe') return model.ignore_merges === true ? name : 'dbrx'; // the same words, merged from bytes
  if (name) return name;
  const byteLevel = all.find(({ type }) => type === 'ByteLevel');
  if (patterns.length === 0 && byteLevel && byteLevel.use_regex !== false)
    return all.some(({ type }) => type === 'Digits') ? 'starcoder' : 'gpt-2';
  throw new TokenizerError(
    'UNKNOWN_PRETOKENIZER',
    `tokenizer.json splits text by a pattern whose name in GGUF is not known (${patterns.join(' and ').slice(0, 200)}); ` +
      'give the name that llama.cpp has for this model with --pre',
  );
}
