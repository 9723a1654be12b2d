import {
  type Cooperative,
  checkArgument,
  eachOf,
  type Rule,
  rules,
  runAtOnce,
  runInTurns,
} from '@quern/core';
import { badArgument, badVocabulary } from './error.js';
import { endsOfFim, type FimTokens, fimTokensOf } from './fim-tokens.js';
import { GgufFields, type GgufMetadata } from './gguf-fields.js';
import { type Defaults, kindOf } from './gguf-kinds.js';
import { makeTokenizer as jsonTokenizer } from './hugging-face.js';
import { endTokens, isEndSpelling } from './special-tokens.js';
import { restoredJson } from './stored-json.js';
import { stripsOf } from './strips.js';
import type { Tokenizer } from './tokenizer.js';
import { isByteSpelling, TokenType, Vocabulary } from './vocabulary.js';
import { VocabularyTokenizer } from './vocabulary-tokenizer.js';

/**
 * The tokenizer of a GGUF file, from its metadata.
 *
 * @throws TokenizerError UNKNOWN_TOKENIZER, UNKNOWN_PRETOKENIZER or BAD_VOCABULARY
 */
export function tokenizerFromGguf(metadata: GgufMetadata): Tokenizer {
  return runAtOnce(makeTokenizer(metadata));
}

/** As `tokenizerFromGguf`; yields to the event loop. */
export function loadTokenizerFromGguf(metadata: GgufMetadata): Promise<Tokenizer> {
  return runInTurns(makeTokenizer(metadata));
}

const readMetadata: Rule<GgufMetadata> = {
  must: 'the metadata of a GGUF file: a Map',
  holds: (value): value is GgufMetadata => rules.isObject(value) && typeof value.get === 'function',
};

function* makeTokenizer(metadata: GgufMetadata): Cooperative<Tokenizer> {
  checkArgument('tokenizerFromGguf', 'metadata', metadata, readMetadata, badArgument);
  const restored = yield* restoredJson(metadata);
  return restored
    ? yield* jsonTokenizer(restored.json, restored.settings, restored.padded)
    : yield* makeFromFields(metadata);
}

function* makeFromFields(metadata: GgufMetadata): Cooperative<Tokenizer> {
  const fields = new GgufFields(metadata);
  const kind = kindOf(fields);
  const spellings = fields.strings('tokens');
  if (!spellings?.length)
    throw badVocabulary('tokenizer.ggml.tokens is missing or empty: the file has no vocabulary');
  const settings = settingsOf(fields, kind.defaults(fields), spellings.length);
  yield;
  const types = yield* tokenTypes(fields, spellings, settings, kind.spellsBytes);
  const vocabulary = yield* Vocabulary.of(spellings, types, kind.toBytes);
  const model = yield* kind.model(vocabulary, fields, settings);
  yield;
  const strips = stripsOf(metadata, vocabulary);
  const fim = yield* fimTokensOf(vocabulary, declaredFim(fields, vocabulary.size));
  const isBounded = strips.left.size + strips.right.size === 0 && kind.standsForBytes(vocabulary);
  return yield* VocabularyTokenizer.of(vocabulary, model, {
    bos: settings.bos,
    eos: settings.eos,
    addBos: settings.addBos,
    addEos: settings.addEos,
    addSpacePrefix: settings.addSpacePrefix,
    strips,
    longestToken: isBounded ? yield* longestToken(vocabulary) : undefined,
    fim,
    eog: yield* endTokens(vocabulary, [
      settings.eos,
      fields.token('eot_token_id', vocabulary.size),
      fields.token('eom_token_id', vocabulary.size),
      ...endsOfFim(fim),
    ]),
  });
}

/** Older converters wrote the first three without "fim_". */
function declaredFim(fields: GgufFields, size: number): Partial<FimTokens> {
  const token = (...keys: string[]) =>
    keys.map((key) => fields.token(`${key}_token_id`, size)).find((id) => id !== undefined);
  return {
    prefix: token('fim_pre', 'prefix'),
    suffix: token('fim_suf', 'suffix'),
    middle: token('fim_mid', 'middle'),
    repository: token('fim_rep'),
    file: token('fim_sep'),
    pad: token('fim_pad'),
  } as Partial<FimTokens>;
}

/** The file's settings over the kind's defaults. A default id is used only if the token with this id may be special. */
function settingsOf(fields: GgufFields, defaults: Defaults, size: number): Defaults {
  const types = fields.numbers('token_type', size);
  const mayBeSpecial = (id: number) => id < size && types?.[id] !== TokenType.normal;
  const token = (key: string, otherwise: number | undefined) =>
    fields.token(key, size) ?? (otherwise !== undefined && mayBeSpecial(otherwise) ? otherwise : undefined);
  const bos = token('bos_token_id', defaults.bos);
  const eos = token('eos_token_id', defaults.eos);
  const unknown = token('unknown_token_id', defaults.unknown);
  return {
    addBos: defaults.alwaysBos || (fields.boolean('add_bos_token') ?? defaults.addBos),
    addEos: fields.boolean('add_eos_token') ?? defaults.addEos,
    addSpacePrefix: fields.boolean('add_space_prefix') ?? defaults.addSpacePrefix,
    ...(bos !== undefined && { bos }),
    ...(eos !== undefined && { eos }),
    ...(unknown !== undefined && { unknown }),
  };
}

/**
 * The file's token types, else types guessed from spellings. End-of-turn tokens are control tokens, even if the
 * converter wrote user-defined; byte tokens are bytes, even if it wrote normal.
 */
function* tokenTypes(
  fields: GgufFields,
  spellings: readonly string[],
  settings: Defaults,
  spellsBytes: boolean,
): Cooperative<Uint8Array> {
  const declared = fields.numbers('token_type', spellings.length);
  const types = declared ? Uint8Array.from(declared) : guessTypes(spellings, settings);
  yield* eachOf(spellings, (spelling, id) => {
    if (types[id] === TokenType.user && isEndSpelling(spelling)) types[id] = TokenType.control;
    if (spellsBytes && types[id] === TokenType.normal && isByteSpelling(spelling)) types[id] = TokenType.byte;
  });
  return types;
}

function guessTypes(spellings: readonly string[], { bos, eos, unknown }: Defaults): Uint8Array {
  const types = Uint8Array.from(spellings, (spelling) =>
    isByteSpelling(spelling) ? TokenType.byte : TokenType.normal,
  );
  if (unknown !== undefined) types[unknown] = TokenType.unknown;
  for (const id of [bos, eos]) if (id !== undefined) types[id] = TokenType.control;
  return types;
}

/** An upper bound of the bytes of text per token: a space mark takes more bytes than a space. */
function* longestToken({ spellings }: Vocabulary): Cooperative<number> {
  let longest = 1;
  yield* eachOf(spellings, (spelling) => {
    longest = Math.max(longest, Buffer.byteLength(spelling));
  });
  return longest;
}
