import { atOnce, checkArgument, type Divided, eachOf, inTurns, type Rule, rules } from '@quern/core';
import { byteCharacters, fromByteLevel } from './byte-level.js';
import { ByteLevelBpe } from './byte-level-bpe.js';
import { Charsmap } from './charsmap.js';
import { badArgument, badVocabulary, TokenizerError } from './error.js';
import { GgufFields, type GgufMetadata } from './gguf-fields.js';
import { preTokenizer } from './pre-tokenizers.js';
import { fromSpaceMarks, SentencePieceBpe } from './sentencepiece-bpe.js';
import { endTokens, isEndSpelling } from './special-tokens.js';
import type { TextModel, Tokenizer } from './tokenizer.js';
import { Unigram } from './unigram.js';
import { TokenType, Vocabulary } from './vocabulary.js';
import { VocabularyTokenizer } from './vocabulary-tokenizer.js';
import { WordPiece } from './word-piece.js';

/** What differs between the kinds of tokenizer before the file's own settings are looked at. */
interface Defaults {
  addBos: boolean;
  addEos: boolean;
  addSpacePrefix: boolean;
  bos?: number;
  eos?: number;
  unknown?: number;
}

interface Kind {
  defaults: (fields: GgufFields) => Defaults;
  toBytes: (spelling: string) => Uint8Array;
  model: (vocabulary: Vocabulary, fields: GgufFields, settings: Defaults) => Divided<TextModel>;
  /** Whether every byte of a text is in some token, so that tokens have a longest text. */
  standsForBytes: (vocabulary: Vocabulary) => boolean;
}

const sentencePiece: Kind = {
  standsForBytes: (vocabulary) => vocabulary.byteTokens().every((id) => id >= 0),
  defaults: () => ({ addBos: true, addEos: false, addSpacePrefix: true, bos: 1, eos: 2, unknown: 0 }),
  toBytes: fromSpaceMarks,
  model: (vocabulary, fields, { addSpacePrefix, unknown }) =>
    SentencePieceBpe.of(vocabulary, scores(fields, vocabulary.size), addSpacePrefix, unknown),
};

const byteLevelBpe: Kind = {
  standsForBytes: (vocabulary) => byteCharacters.every((byte) => vocabulary.find(byte) !== undefined),
  defaults: (fields) => ({
    addBos: preTokenizerOf(fields).addBos ?? false,
    addEos: false,
    addSpacePrefix: false,
  }),
  toBytes: fromByteLevel,
  model: (vocabulary, fields) => {
    const merges = fields.strings('merges');
    if (!merges)
      throw badVocabulary(
        'tokenizer.ggml.merges is missing: a "gpt2" tokenizer cannot join bytes without it',
      );
    return ByteLevelBpe.of(vocabulary, merges, preTokenizerOf(fields));
  },
};

const unigram: Kind = {
  standsForBytes: () => false,
  defaults: () => ({ addBos: false, addEos: true, addSpacePrefix: true, eos: 1, unknown: 2 }),
  toBytes: fromSpaceMarks,
  model: (vocabulary, fields, { addSpacePrefix, unknown }) => {
    if (unknown === undefined)
      throw badVocabulary('tokenizer.ggml.unknown_token_id is missing: a "t5" tokenizer needs it');
    const charsmap = fields.bytes('precompiled_charsmap');
    return Unigram.of(vocabulary, scores(fields, vocabulary.size), {
      unknown,
      addSpacePrefix,
      removeExtraSpaces: fields.boolean('remove_extra_whitespaces') ?? false,
      charsmap: charsmap?.length ? new Charsmap(charsmap) : undefined,
    });
  },
};

/** Texts begin with [CLS] and end with [SEP], which converters misspell. */
const wordPiece: Kind = {
  standsForBytes: () => false,
  defaults: (fields) => ({
    addBos: true,
    addEos: true,
    addSpacePrefix: true,
    bos: fields.anyToken('cls_token_id') ?? 101,
    eos: fields.anyToken('seperator_token_id') ?? 102,
    unknown: 100,
  }),
  toBytes: fromSpaceMarks,
  model: (vocabulary, _fields, { unknown }) => {
    if (unknown === undefined)
      throw badVocabulary('tokenizer.ggml.unknown_token_id is missing: a "bert" tokenizer needs it');
    return WordPiece.of(vocabulary, unknown);
  },
};

/** By the names that GGUF files use in `tokenizer.ggml.model`. */
const KINDS: Readonly<Record<string, Kind>> = {
  llama: sentencePiece,
  gpt2: byteLevelBpe,
  t5: unigram,
  bert: wordPiece,
};

/**
 * The tokenizer of a GGUF file, from its metadata.
 *
 * @throws TokenizerError UNKNOWN_TOKENIZER, UNKNOWN_PRETOKENIZER or BAD_VOCABULARY
 */
export function tokenizerFromGguf(metadata: GgufMetadata): Tokenizer {
  return atOnce(makeTokenizer(metadata));
}

/** The same without holding the event loop. */
export function loadTokenizerFromGguf(metadata: GgufMetadata): Promise<Tokenizer> {
  return inTurns(makeTokenizer(metadata));
}

const readMetadata: Rule<GgufMetadata> = {
  must: 'the metadata of a GGUF file: a Map',
  holds: (value): value is GgufMetadata => rules.isObject(value) && typeof value.get === 'function',
};

function* makeTokenizer(metadata: GgufMetadata): Divided<Tokenizer> {
  checkArgument('tokenizerFromGguf', 'metadata', metadata, readMetadata, badArgument);
  const fields = new GgufFields(metadata);
  const kind = kindOf(fields);
  const spellings = fields.strings('tokens');
  if (!spellings?.length)
    throw badVocabulary('tokenizer.ggml.tokens is missing or empty: the file has no vocabulary');
  const settings = settingsOf(fields, kind.defaults(fields), spellings.length);
  yield;
  const types = yield* tokenTypes(fields, spellings, settings);
  const vocabulary = yield* Vocabulary.of(spellings, types, kind.toBytes);
  const model = yield* kind.model(vocabulary, fields, settings);
  yield;
  return new VocabularyTokenizer(vocabulary, model, {
    bos: settings.bos,
    eos: settings.eos,
    addBos: settings.addBos,
    addEos: settings.addEos,
    addSpacePrefix: settings.addSpacePrefix,
    longestToken: kind.standsForBytes(vocabulary) ? longestToken(vocabulary) : undefined,
    eog: endTokens(vocabulary, [
      settings.eos,
      fields.token('eot_token_id', vocabulary.size),
      fields.token('eom_token_id', vocabulary.size),
    ]),
  });
}

function kindOf(fields: GgufFields): Kind {
  const name = fields.string('model');
  if (name === undefined) throw badVocabulary('tokenizer.ggml.model is missing: the file has no tokenizer');
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  if (kind) return kind;
  throw new TokenizerError(
    'UNKNOWN_TOKENIZER',
    `tokenizer.ggml.model is "${name}"; this version knows ${Object.keys(KINDS).join(', ')}`,
  );
}

const preTokenizerOf = (fields: GgufFields) => preTokenizer(fields.string('pre') || 'default');

/** The file's own settings over the defaults of its kind; a default id is taken only where the token there may be special. */
function settingsOf(fields: GgufFields, defaults: Defaults, size: number): Defaults {
  const types = fields.numbers('token_type', size);
  const mayBeSpecial = (id: number) => id < size && types?.[id] !== TokenType.normal;
  const token = (key: string, otherwise: number | undefined) =>
    fields.token(key, size) ?? (otherwise !== undefined && mayBeSpecial(otherwise) ? otherwise : undefined);
  const bos = token('bos_token_id', defaults.bos);
  const eos = token('eos_token_id', defaults.eos);
  const unknown = token('unknown_token_id', defaults.unknown);
  return {
    addBos: fields.boolean('add_bos_token') ?? defaults.addBos,
    addEos: fields.boolean('add_eos_token') ?? defaults.addEos,
    addSpacePrefix: fields.boolean('add_space_prefix') ?? defaults.addSpacePrefix,
    ...(bos !== undefined && { bos }),
    ...(eos !== undefined && { eos }),
    ...(unknown !== undefined && { unknown }),
  };
}

/**
 * The file's token types, or without them what the spellings tell. Tokens that end a turn are control tokens, also in
 * the files whose converter called them user-defined.
 */
function* tokenTypes(
  fields: GgufFields,
  spellings: readonly string[],
  settings: Defaults,
): Divided<Uint8Array> {
  const declared = fields.numbers('token_type', spellings.length);
  const types = declared ? Uint8Array.from(declared) : guessTypes(spellings, settings);
  yield* eachOf(spellings, (spelling, id) => {
    if (types[id] === TokenType.user && isEndSpelling(spelling)) types[id] = TokenType.control;
  });
  return types;
}

function guessTypes(spellings: readonly string[], { bos, eos, unknown }: Defaults): Uint8Array {
  const types = Uint8Array.from(spellings, (spelling) =>
    /^<0x[0-9A-F]{2}>$/.test(spelling) ? TokenType.byte : TokenType.normal,
  );
  if (unknown !== undefined) types[unknown] = TokenType.unknown;
  for (const id of [bos, eos]) if (id !== undefined) types[id] = TokenType.control;
  return types;
}

/** The most bytes that a token stands for; a space mark has more of them than the space. */
const longestToken = (vocabulary: Vocabulary): number =>
  vocabulary.spellings.reduce((longest, spelling) => Math.max(longest, Buffer.byteLength(spelling)), 1);

const scores = (fields: GgufFields, size: number) => fields.numbers('scores', size) ?? new Float32Array(size);
