import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { badArgument, badOption, badVocabulary } from './error.js';
import { addedTokens, dropsFirstSpace, isJson, type Json, jsonVocabulary } from './hugging-face-json.js';
import { HuggingFaceTokenizer } from './hugging-face-tokenizer.js';
import { endTokens } from './special-tokens.js';
import type { Tokenizer } from './tokenizer.js';
import { TokenType, type Vocabulary } from './vocabulary.js';

/** The files beside tokenizer.json that say which tokens are special; each may be missing. */
export interface TokenizerSettings {
  /** tokenizer_config.json, over special_tokens_map.json */
  tokenizerConfig?: Json | undefined;
  /** generation_config.json, over config.json: `eos_token_id` may be a list */
  generationConfig?: Json | undefined;
}

const parsedJson: Rule<Json> = { must: 'the object that tokenizer.json holds', holds: isJson };

/** Of each option: what it must be. */
export const tokenizerSettingsSchema = {
  tokenizerConfig: {
    ...rules.object,
    about: 'tokenizer_config.json, over special_tokens_map.json',
    absent: 'what tokenizer.json tells',
  },
  generationConfig: {
    ...rules.object,
    about: 'generation_config.json, over config.json',
    absent: 'what tokenizer.json tells',
  },
} as const satisfies Schema<TokenizerSettings>;

/**
 * The tokenizer of a Hugging Face model folder: tokenizer.json with, where present, tokenizer_config.json,
 * special_tokens_map.json, generation_config.json and config.json.
 *
 * @throws TokenizerError BAD_VOCABULARY
 */
export async function tokenizerFromHuggingFace(folder: string): Promise<Tokenizer> {
  checkArgument('tokenizerFromHuggingFace', 'folder', folder, rules.path, badArgument);
  const read = (name: string) => readJson(join(folder, name));
  const json = await read('tokenizer.json');
  if (!json) throw badVocabulary(`${folder} has no tokenizer.json`);
  return tokenizerFromJson(json, {
    tokenizerConfig: { ...(await read('special_tokens_map.json')), ...(await read('tokenizer_config.json')) },
    generationConfig: { ...(await read('config.json')), ...(await read('generation_config.json')) },
  });
}

/**
 * The same from the contents of the files.
 *
 * @throws TokenizerError BAD_VOCABULARY
 */
export function tokenizerFromJson(json: Json, settings: TokenizerSettings = {}): Tokenizer {
  checkArgument('tokenizerFromJson', 'json', json, parsedJson, badArgument);
  checkOptions('tokenizerFromJson', settings, tokenizerSettingsSchema, badOption);
  const { tokenizerConfig = {}, generationConfig = {} } = settings;
  const vocabulary = jsonVocabulary(json, specialSpellings(tokenizerConfig));
  const token = (key: string) => idOf(spellingOf(tokenizerConfig[key]), json, vocabulary);
  const eos = token('eos_token');
  const promptRules = {
    bos: token('bos_token'),
    eos,
    eog: endTokens(vocabulary, [eos, ...idsOf(generationConfig.eos_token_id, vocabulary.size)]),
    addSpacePrefix: dropsFirstSpace(json),
    ...(typeof tokenizerConfig.add_bos_token === 'boolean' && { addBos: tokenizerConfig.add_bos_token }),
    ...(typeof tokenizerConfig.add_eos_token === 'boolean' && { addEos: tokenizerConfig.add_eos_token }),
  };
  try {
    return new HuggingFaceTokenizer(normalized(json), tokenizerConfig, vocabulary, promptRules);
  } catch (cause) {
    throw badVocabulary(
      `tokenizer.json cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
  }
}

const SPECIAL_KEYS = [
  'bos_token',
  'eos_token',
  'unk_token',
  'sep_token',
  'pad_token',
  'cls_token',
  'mask_token',
];

const specialSpellings = (config: Json) =>
  new Set(SPECIAL_KEYS.flatMap((key) => spellingOf(config[key]) ?? []));

/** Written as "<s>" or as {content: "<s>", …}. */
function spellingOf(value: unknown): string | undefined {
  const content = isJson(value) ? value.content : value;
  return typeof content === 'string' ? content : undefined;
}

function idOf(spelling: string | undefined, json: Json, vocabulary: Vocabulary): number | undefined {
  if (spelling === undefined) return undefined;
  const added = addedTokens(json).find(({ content }) => content === spelling);
  const id = added?.id ?? vocabulary.spellings.indexOf(spelling);
  return id >= 0 && vocabulary.types[id] !== TokenType.byte ? id : undefined;
}

/** One id or a list of them; ids outside the vocabulary are dropped, since no text can be made of them. */
function idsOf(value: unknown, size: number): number[] {
  const ids: readonly unknown[] = Array.isArray(value) ? value : [value];
  return ids.filter(
    (id): id is number => typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < size,
  );
}

/** The library wants these keys present, if only as null. */
const normalized = (json: Json): Json => ({
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
  ...json,
  added_tokens: json.added_tokens ?? [],
});

async function readJson(path: string): Promise<Json | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw badVocabulary(`${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
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
