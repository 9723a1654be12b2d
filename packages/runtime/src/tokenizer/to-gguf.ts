import { join } from 'node:path';
import { runAtOnce } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import { badVocabulary, TokenizerError } from './error.js';
import { jsonVocabulary, readJson, tokenizerFromHuggingFace } from './hugging-face.js';
import { pairOf } from './json/bpe.js';
import { isJson, type Json } from './json/fields.js';
import { o200kSource } from './json/known-patterns.js';
import { SPACE_MARK } from './sentencepiece-bpe.js';
import type { Tokenizer } from './tokenizer.js';
import { TokenType } from './vocabulary.js';

export interface GgufVocabularyOptions {
  /** Rows of the model's embedding; ids beyond the tokenizer's become unused tokens. */
  readonly size: number;
  /** llama.cpp's name of the pre-tokenizer, where it does not follow from tokenizer.json. */
  readonly pre?: string;
}

type Entries = Map<string, MetadataInput>;

/**
 * The vocabulary of a Hugging Face folder as `tokenizer.*` metadata of a GGUF file, for `tokenizerFromGguf`.
 * @throws TokenizerError BAD_VOCABULARY, UNKNOWN_TOKENIZER or UNKNOWN_PRETOKENIZER.
 */
export async function vocabularyToGguf(folder: string, options: GgufVocabularyOptions): Promise<Entries> {
  const tokenizer = await tokenizerFromHuggingFace(folder); // reports faults of the files
  const json = (await readJson(join(folder, 'tokenizer.json'))) ?? {};
  const config = (await readJson(join(folder, 'tokenizer_config.json'))) ?? {};
  const { spellings, types } = runAtOnce(jsonVocabulary(json, config)).vocabulary;
  const { tokens, tokenTypes } = padded(spellings, types, options.size);
  const entries: Entries = new Map<string, MetadataInput>(kindEntries(json, tokens, options));
  entries.set('tokenizer.ggml.tokens', isWordPiece(json) ? marked(tokens, tokenTypes) : tokens);
  entries.set('tokenizer.ggml.token_type', tokenTypes);
  for (const [key, name] of specialKeys) {
    const spelling = spellingOf(config[key]);
    const id = spelling === undefined ? -1 : tokens.indexOf(spelling);
    if (id >= 0) entries.set(`tokenizer.ggml.${name}_token_id`, id);
  }
  const [first, last] = endsOf(tokenizer);
  const [bos, eos] = [tokenizer.bos ?? first, tokenizer.eos ?? last];
  if (bos !== undefined) entries.set('tokenizer.ggml.bos_token_id', bos);
  if (eos !== undefined) entries.set('tokenizer.ggml.eos_token_id', eos);
  const otherEnd = [...tokenizer.eog].find((id) => id !== tokenizer.eos);
  if (otherEnd !== undefined) entries.set('tokenizer.ggml.eot_token_id', otherEnd);
  entries.set('tokenizer.ggml.add_bos_token', tokenizer.addBos);
  entries.set('tokenizer.ggml.add_eos_token', tokenizer.addEos);
  return entries;
}

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

/**
 * Hugging Face marks tokens inside words, GGUF marks tokens at the start of words: "##ing" and "play" become "ing" and
 * "▁play".
 */
function marked(tokens: readonly string[], types: Int32Array): string[] {
  return tokens.map((token, id) => {
    if (types[id] !== TokenType.normal) return token;
    return token.startsWith('##') ? token.slice(2) : SPACE_MARK + token;
  });
}

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
