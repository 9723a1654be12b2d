import { type Cooperative, eachOf } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import { badVocabulary } from './error.js';
import { GgufFields, type GgufMetadata } from './gguf-fields.js';
import type { TokenizerSettings } from './hugging-face.js';
import type { AddedToken } from './json/added-tokens.js';
import { pairOf } from './json/bpe.js';
import { isJson, type Json } from './json/fields.js';
import type { ModelTokens } from './json/model-tokens.js';
import type { Tokenizer } from './tokenizer.js';
import { TokenType, type Vocabulary } from './vocabulary.js';
import { fromMarked } from './word-piece-marks.js';

// A tokenizer.json inside a GGUF file. The keys of llama.cpp hold the tokens and, for byte-level BPE, the merges; keys
// of our own hold the rest.

/** tokenizer.json without tokens and merges, and what else the keys of llama.cpp cannot say. */
const JSON_KEY = 'quern.tokenizer.json';
/** Left and right pieces of each merge, in turns; only without `tokenizer.ggml.merges`. */
const MERGES_KEY = 'quern.tokenizer.merges';
/** Scores by id, where float32 is not exact. */
const SCORES_KEY = 'quern.tokenizer.scores';

/** The value of `JSON_KEY`. */
interface Stored {
  readonly tokenizer: Json;
  /** Tokens of the model that `tokenizer.ggml.tokens` spells otherwise. */
  readonly spellings: readonly (readonly [spelling: string, id: number])[];
  /** Ids in `tokenizer.ggml.tokens` that are not the model's, or not in this spelling. */
  readonly others: readonly number[];
  readonly ends: readonly number[];
  /** Settings of tokenizer_config.json. */
  readonly settings: Json;
  /** The entries of llama.cpp's keys that the settings became. An entry that was changed later goes before them. */
  readonly written: Json;
}

/** llama.cpp's keys for settings of tokenizer_config.json. */
const SETTINGS = [
  ['bos_token', 'bos_token_id'],
  ['eos_token', 'eos_token_id'],
  ['add_bos_token', 'add_bos_token'],
  ['add_eos_token', 'add_eos_token'],
] as const;

/** The tokenizer of a Hugging Face folder, and its files. */
export interface Origin {
  readonly json: Json;
  readonly tokenizerConfig: Json;
  readonly vocabulary: Vocabulary;
  /** The tokens of the model, without added tokens. */
  readonly tokens: ModelTokens;
  readonly added: readonly AddedToken[];
  readonly tokenizer: Tokenizer;
  readonly isWordPiece: boolean;
}

/** The keys of our own, beside `entries`, the keys of llama.cpp. */
export function storedEntries(
  origin: Origin,
  entries: ReadonlyMap<string, MetadataInput>,
): [string, MetadataInput][] {
  const { json, tokens, added, tokenizer, tokenizerConfig } = origin;
  const { vocab, merges, ...model } = isJson(json.model) ? json.model : {};
  const plain = plainTokens(entries, origin.isWordPiece);
  const isPlain = ([spelling, id]: readonly [string, number]) => plain.get(id) === spelling;
  const own = new Set(tokens.entries.filter(isPlain).map(([, id]) => id));
  const stored: Stored = {
    tokenizer: { ...json, model, added_tokens: added.map(entryOf) },
    spellings: tokens.entries.filter((entry) => !isPlain(entry)),
    others: [...plain.keys()].filter((id) => !own.has(id)),
    ends: [...tokenizer.eog],
    settings: Object.fromEntries(SETTINGS.map(([key]) => [key, tokenizerConfig[key] ?? null])),
    written: Object.fromEntries(
      SETTINGS.map(([, key]) => [key, entries.get(`tokenizer.ggml.${key}`) ?? null]),
    ),
  };
  return [
    [JSON_KEY, JSON.stringify(stored)],
    ...mergesEntries(merges, entries),
    ...(Array.isArray(vocab) ? scoresEntries(vocab) : []),
  ];
}

const entryOf = ({ id, content, special, singleWord, lstrip, rstrip, normalized }: AddedToken): Json => ({
  id,
  content,
  special,
  single_word: singleWord,
  lstrip,
  rstrip,
  normalized,
});

/** The tokens of a GGUF file in the spelling of tokenizer.json, without padding. */
function plainTokens(entries: ReadonlyMap<string, unknown>, isWordPiece: boolean): Map<number, string> {
  const fields = new GgufFields(entries);
  const spellings = fields.strings('tokens') ?? [];
  const types = fields.numbers('token_type', spellings.length);
  const plain = new Map<number, string>();
  for (const [id, spelling] of spellings.entries()) {
    if (types?.[id] === TokenType.unused) continue;
    plain.set(id, isWordPiece && types?.[id] === TokenType.normal ? fromMarked(spelling) : spelling);
  }
  return plain;
}

function mergesEntries(
  merges: unknown,
  entries: ReadonlyMap<string, MetadataInput>,
): [string, MetadataInput][] {
  if (!Array.isArray(merges) || entries.has('tokenizer.ggml.merges')) return [];
  return [[MERGES_KEY, { type: 'array', value: merges.flatMap((merge, rank) => [...pairOf(merge, rank)]) }]];
}

function scoresEntries(vocab: readonly unknown[]): [string, MetadataInput][] {
  const scores = Float64Array.from(vocab, (piece) => Number(Array.isArray(piece) ? piece[1] : 0));
  return scores.every((score) => score === Math.fround(score)) ? [] : [[SCORES_KEY, scores]];
}

/** A tokenizer.json, and the settings beside it. */
export interface Restored {
  readonly json: Json;
  readonly settings: TokenizerSettings;
  /** All tokens of the GGUF file, with its padding. */
  readonly padded: readonly string[];
}

/**
 * The tokenizer.json that `storedEntries` wrote; undefined: the file has none.
 * @throws TokenizerError BAD_VOCABULARY
 */
export function* restoredJson(metadata: GgufMetadata): Cooperative<Restored | undefined> {
  const text = metadata.get(JSON_KEY);
  if (text === undefined) return undefined;
  const stored = parsed(text);
  const fields = new GgufFields(metadata);
  const padded = fields.strings('tokens') ?? [];
  const plain = plainTokens(metadata, fields.string('model') === 'bert');
  for (const id of stored.others) plain.delete(id);
  const spelled: (readonly [string, number])[] = [...stored.spellings];
  yield* eachOf([...plain], ([id, spelling]) => spelled.push([spelling, id]));
  const model = isJson(stored.tokenizer.model) ? stored.tokenizer.model : {};
  const vocab = yield* vocabOf(spelled, metadata);
  const merges = mergesOf(metadata);
  return {
    json: { ...stored.tokenizer, model: { ...model, vocab, ...(merges && { merges }) } },
    settings: settingsOf(stored, fields, padded),
    padded,
  };
}

function parsed(text: unknown): Stored {
  const value: unknown = typeof text === 'string' ? parseJson(text) : undefined;
  if (isStored(value)) return value;
  throw badVocabulary(`${JSON_KEY} is not what quern quantize writes: convert the model's folder again`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badVocabulary(`${JSON_KEY} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

const isIds = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((id) => Number.isSafeInteger(id) && id >= 0);

const isSpelled = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isIds([value[1]]);

const isStored = (value: unknown): value is Stored & Json =>
  isJson(value) &&
  [value.tokenizer, value.settings, value.written].every(isJson) &&
  Array.isArray(value.spellings) &&
  value.spellings.every(isSpelled) &&
  isIds(value.others) &&
  isIds(value.ends);

/** `model.vocab`: an object, for Unigram a list of pieces with their scores. */
function* vocabOf(
  spelled: readonly (readonly [string, number])[],
  metadata: GgufMetadata,
): Cooperative<unknown> {
  if (metadata.get('tokenizer.ggml.model') === 't5') return piecesOf(spelled, metadata);
  const vocab: Record<string, number> = Object.create(null);
  yield* eachOf(spelled, ([spelling, id]) => {
    vocab[spelling] = id;
  });
  return vocab;
}

function piecesOf(spelled: readonly (readonly [string, number])[], metadata: GgufMetadata) {
  const scores = metadata.get(SCORES_KEY) ?? metadata.get('tokenizer.ggml.scores');
  const scoreOf = (id: number) => (ArrayBuffer.isView(scores) || Array.isArray(scores) ? at(scores, id) : 0);
  const pieces: (readonly [string, number])[] = [];
  for (const [spelling, id] of [...spelled].sort((a, b) => a[1] - b[1])) {
    if (id !== pieces.length) throw badVocabulary(`${JSON_KEY}: the tokens have no piece ${pieces.length}`);
    pieces.push([spelling, scoreOf(id)]);
  }
  return pieces;
}

const at = (values: object, id: number): number => Number(Reflect.get(values, id) ?? 0);

function mergesOf(metadata: GgufMetadata): readonly unknown[] | undefined {
  const own = metadata.get(MERGES_KEY);
  if (own === undefined) return new GgufFields(metadata).strings('merges');
  if (!Array.isArray(own) || own.length % 2 !== 0)
    throw badVocabulary(`${MERGES_KEY} is not a list of pairs of pieces`);
  return Array.from({ length: own.length / 2 }, (_, i) => [own[2 * i], own[2 * i + 1]]);
}

function settingsOf(stored: Stored, fields: GgufFields, spellings: readonly string[]): TokenizerSettings {
  const tokenizerConfig: Record<string, unknown> = {};
  for (const [key, name] of SETTINGS) {
    const isToken = name.endsWith('_id');
    const now = isToken ? fields.token(name, spellings.length) : fields.boolean(name);
    const isChanged = now !== undefined && now !== stored.written[name];
    tokenizerConfig[key] = !isChanged ? stored.settings[key] : isToken ? spellings[Number(now)] : now;
  }
  const others = ['eot_token_id', 'eom_token_id'].map((key) => fields.token(key, spellings.length));
  return { tokenizerConfig, generationConfig: { eos_token_id: [...stored.ends, ...others] } };
}
