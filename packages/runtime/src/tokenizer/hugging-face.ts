import { join } from 'node:path';
import {
  type Cooperative,
  checkArgument,
  checkOptions,
  type Rule,
  rules,
  runAtOnce,
  runInTurns,
  type Schema,
} from '@quern/core';
import { readRegularFile } from '@quern/quant';
import { badArgument, badOption, badVocabulary } from './error.js';
import { endsOfFim, fimTokensOf } from './fim-tokens.js';
import { type AddedToken, AddedTokens, addedToken, addedTokens } from './json/added-tokens.js';
import { decoderOf, wordsApart } from './json/decoders.js';
import { Fields, isJson, type Json } from './json/fields.js';
import { JsonTokenizer } from './json/json-tokenizer.js';
import { longestTokenOf } from './json/longest-token.js';
import { ModelTokens } from './json/model-tokens.js';
import { modelsOf } from './json/models.js';
import { noNormalization } from './json/normal-parts.js';
import { normalizationOf } from './json/normalizers.js';
import { Pipeline } from './json/pipeline.js';
import { type Frame, frameOf } from './json/post-processor.js';
import { preTokenizerOf } from './json/pre-tokenizers.js';
import { dropsFirstSpace, vocabularyOf } from './json/vocabulary.js';
import { endTokens } from './special-tokens.js';
import type { Tokenizer } from './tokenizer.js';
import { TokenType, type Vocabulary } from './vocabulary.js';

/** Files next to tokenizer.json that define special tokens; each is optional. */
export interface TokenizerSettings {
  /** tokenizer_config.json; overrides special_tokens_map.json */
  tokenizerConfig?: Json | undefined;
  /** generation_config.json; overrides config.json. `eos_token_id` may be a list */
  generationConfig?: Json | undefined;
}

const parsedJson: Rule<Json> = { must: 'the object that tokenizer.json holds', holds: isJson };

/** What each option must be. */
export const tokenizerSettingsSchema = {
  tokenizerConfig: {
    ...rules.object,
    about: 'tokenizer_config.json; overrides special_tokens_map.json',
    absent: 'from tokenizer.json',
  },
  generationConfig: {
    ...rules.object,
    about: 'generation_config.json; overrides config.json',
    absent: 'from tokenizer.json',
  },
} as const satisfies Schema<TokenizerSettings>;

/**
 * The tokenizer of a Hugging Face model folder: tokenizer.json and, where present, tokenizer_config.json,
 * special_tokens_map.json, generation_config.json and config.json.
 *
 *
 * @throws TokenizerError BAD_VOCABULARY, UNKNOWN_TOKENIZER
 */
export async function tokenizerFromHuggingFace(folder: string): Promise<Tokenizer> {
  checkArgument('tokenizerFromHuggingFace', 'folder', folder, rules.path, badArgument);
  const read = (name: string) => readJson(join(folder, name));
  const json = await read('tokenizer.json');
  if (!json) throw badVocabulary(`${folder} has no tokenizer.json`);
  const settings = {
    tokenizerConfig: { ...(await read('special_tokens_map.json')), ...(await read('tokenizer_config.json')) },
    generationConfig: { ...(await read('config.json')), ...(await read('generation_config.json')) },
  };
  return runInTurns(makeTokenizer(json, settings));
}

/**
 * As `tokenizerFromHuggingFace`, from the contents of the files.
 *
 *
 * @throws TokenizerError BAD_VOCABULARY, UNKNOWN_TOKENIZER
 */
export function tokenizerFromJson(json: Json, settings: TokenizerSettings = {}): Tokenizer {
  checkArgument('tokenizerFromJson', 'json', json, parsedJson, badArgument);
  checkOptions('tokenizerFromJson', settings, tokenizerSettingsSchema, badOption);
  return runAtOnce(makeTokenizer(json, settings));
}

/** @param padded the tokens of the model's embedding, where it has more rows than the file has tokens */
export function* makeTokenizer(
  json: Json,
  settings: TokenizerSettings,
  padded: readonly string[] = [],
): Cooperative<Tokenizer> {
  const { tokenizerConfig = {}, generationConfig = {} } = settings;
  const part = <T>(key: string, make: (fields: Fields) => T): T | undefined =>
    isJson(json[key]) ? make(new Fields(json[key], key)) : undefined;
  const preTokenizer = part('pre_tokenizer', preTokenizerOf);
  const decoder = part('decoder', decoderOf) ?? wordsApart; // too deep nesting throws here
  const { vocabulary, tokens, added } = yield* jsonVocabulary(json, tokenizerConfig, padded);
  const models = yield* modelsOf(json.model, tokens);
  const idOf = (key: string) => {
    const spelling = spellingOf(tokenizerConfig[key]);
    if (spelling === undefined) return undefined;
    return added.find(({ content }) => content === spelling)?.id ?? tokens.find(spelling);
  };
  const eos = idOf('eos_token');
  const fim = yield* fimTokensOf(vocabulary);
  return new JsonTokenizer({
    vocabulary,
    addedTokens: new AddedTokens(added, part('normalizer', normalizationOf) ?? noNormalization),
    parsing: new Pipeline(preTokenizer, models.parsing),
    typed: new Pipeline(preTokenizer, models.typed),
    frame: framed(part('post_processor', frameOf), vocabulary),
    decoder,
    bos: idOf('bos_token'),
    eos,
    eog: yield* endTokens(vocabulary, [
      eos,
      ...idsOf(generationConfig.eos_token_id, vocabulary.size),
      ...endsOfFim(fim),
    ]),
    fim,
    addBos: booleanOf(tokenizerConfig.add_bos_token),
    addEos: booleanOf(tokenizerConfig.add_eos_token),
    addSpacePrefix: dropsFirstSpace(json),
    longestToken: longestTokenOf(json, tokens, added),
  });
}

/** The tokens of a tokenizer.json. Tokens that tokenizer_config.json lists as special are special. */
export function* jsonVocabulary(json: Json, tokenizerConfig: Json, padded: readonly string[] = []) {
  const tokens = yield* ModelTokens.of(isJson(json.model) ? json.model : {});
  const own = addedTokens(json);
  const added = [...own, ...configTokens(tokenizerConfig, tokens, own)];
  const vocabulary = vocabularyOf(json, tokens, added, padded);
  tokens.hide((id) => vocabulary.types[id] === TokenType.control);
  return { vocabulary, tokens, added };
}

/** Tokens of the model that other files of the folder declare as special. */
function configTokens(config: Json, tokens: ModelTokens, own: readonly AddedToken[]): AddedToken[] {
  const known = new Set(own.map(({ content }) => content));
  const found = new Map<string, AddedToken>();
  for (const key of SPECIAL_KEYS) {
    const content = spellingOf(config[key]);
    const id = content === undefined || known.has(content) ? undefined : tokens.find(content);
    const entry = isJson(config[key]) ? config[key] : {};
    if (id !== undefined && content !== undefined)
      found.set(content, addedToken({ ...entry, id, content, special: true, normalized: false }, key));
  }
  return [...found.values()];
}

/** The post-processor's tokens. Checks that they exist. @throws TokenizerError BAD_VOCABULARY */
function framed(frame: Frame | undefined, { size }: Vocabulary): Frame {
  const unknown = [...(frame?.prefix ?? []), ...(frame?.suffix ?? [])].find((id) => id >= size);
  if (unknown === undefined) return frame ?? { prefix: [], suffix: [] };
  throw badVocabulary(
    `tokenizer.json: post_processor puts the token ${unknown} beside a text; ids are 0 to ${size - 1}`,
  );
}

const booleanOf = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);

const SPECIAL_KEYS = [
  'bos_token',
  'eos_token',
  'unk_token',
  'sep_token',
  'pad_token',
  'cls_token',
  'mask_token',
];

/** A spelling: "<s>" or {content: "<s>", …}. */
function spellingOf(value: unknown): string | undefined {
  const content = isJson(value) ? value.content : value;
  return typeof content === 'string' ? content : undefined;
}

/** One id or a list of ids; drops ids outside the vocabulary, which have no text. */
function idsOf(value: unknown, size: number): number[] {
  const ids: readonly unknown[] = Array.isArray(value) ? value : [value];
  return ids.filter(
    (id): id is number => typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < size,
  );
}

/** The largest vocabularies have about 35 MB. */
const MOST_BYTES = 512 * 2 ** 20;

/** The object in a JSON file; undefined where the file does not exist. @throws TokenizerError BAD_VOCABULARY */
export async function readJson(path: string): Promise<Json | undefined> {
  const text = await readRegularFile(path, MOST_BYTES).catch((cause: unknown) => {
    throw badVocabulary(cause instanceof Error ? cause.message : String(cause));
  });
  if (text === undefined) return undefined;
  const value = parseJson(path, text);
  if (isJson(value)) return value;
  throw badVocabulary(`${path} is not a JSON object`);
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badVocabulary(`${path} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
