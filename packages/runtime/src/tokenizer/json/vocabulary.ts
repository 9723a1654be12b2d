import { fromByteLevel } from '../byte-level.js';
import { badVocabulary } from '../error.js';
import { fromSpaceMarks } from '../sentencepiece-bpe.js';
import { type SpellingToBytes, TokenType, Vocabulary } from '../vocabulary.js';
import type { AddedToken } from './added-tokens.js';
import { decoderSteps } from './decoders.js';
import { isJson, type Json } from './fields.js';
import type { ModelTokens } from './model-tokens.js';

const utf8 = new TextEncoder();

/**
 * The tokens of a tokenizer.json by id; added tokens override the model's.
 * @param padded spellings for ids without a token
 * @throws TokenizerError BAD_VOCABULARY
 */
export function vocabularyOf(
  tokenizer: Json,
  { entries }: ModelTokens,
  added: readonly AddedToken[],
  padded: readonly string[],
): Vocabulary {
  const own = spellingsOf(entries, added);
  const spellings = own.length < padded.length ? [...own, ...padded.slice(own.length)] : own;
  const types = new Uint8Array(spellings.length).fill(TokenType.unused).fill(TokenType.normal, 0, own.length);
  if (isJson(tokenizer.model) && tokenizer.model.byte_fallback === true) markBytes(spellings, types);
  const isByteLevel = decoderSteps(tokenizer.decoder).some(({ type }) => type === 'ByteLevel');
  const plain = isByteLevel ? TokenType.user : TokenType.normal; // added tokens are not in the byte-level alphabet
  for (const { id, special } of added) types[id] = special ? TokenType.control : plain;
  return Vocabulary.unindexed(spellings, types, spellingToBytes(tokenizer.decoder));
}

/** Most unused ids: vocabularies have padding, and added tokens may have gaps. */
const MOST_UNUSED = 1 << 20;

/** Spelling by id; "" for an unused id. The size is limited: ids come from a file. */
function spellingsOf(
  entries: readonly (readonly [string, number])[],
  added: readonly AddedToken[],
): readonly string[] {
  if (entries.length + added.length === 0)
    throw badVocabulary('tokenizer.json has no vocabulary: model.vocab is missing or empty');
  const limit = entries.length + added.length + MOST_UNUSED;
  let size = 0;
  const see = (spelling: string, id: number) => {
    if (id >= limit)
      throw badVocabulary(
        `tokenizer.json gives the token "${spelling.slice(0, 60)}" the id ${id}, but has only ${entries.length + added.length} tokens`,
      );
    size = Math.max(size, id + 1);
  };
  for (const [spelling, id] of entries) see(spelling, id);
  for (const { content, id } of added) see(content, id);
  const spellings = new Array<string>(size).fill('');
  for (const [spelling, id] of entries) spellings[id] = spelling;
  for (const { content, id } of added) spellings[id] = content;
  return spellings;
}

function markBytes(spellings: readonly string[], types: Uint8Array): void {
  for (const [id, spelling] of spellings.entries()) {
    if (/^<0x[0-9A-F]{2}>$/.test(spelling)) types[id] = TokenType.byte;
  }
}

/** The bytes of a single token. At the start of a text, decoders may differ. */
function spellingToBytes(decoder: unknown): SpellingToBytes {
  const steps = decoderSteps(decoder);
  if (steps.some(({ type }) => type === 'ByteLevel')) return fromByteLevel;
  const wordPiece = steps.find(({ type }) => type === 'WordPiece');
  if (wordPiece) {
    const prefix = typeof wordPiece.prefix === 'string' ? wordPiece.prefix : '##';
    return (text) => utf8.encode(text.startsWith(prefix) ? text.slice(prefix.length) : ` ${text}`);
  }
  return steps.some(({ type }) => type === 'Metaspace' || type === 'Replace')
    ? fromSpaceMarks
    : (text) => utf8.encode(text);
}

/** Whether decoding drops the first space. */
export const dropsFirstSpace = (tokenizer: Json): boolean =>
  decoderSteps(tokenizer.decoder).some(
    (step) =>
      step.type === 'WordPiece' ||
      (step.type === 'Metaspace' && step.prepend_scheme !== 'never' && step.add_prefix_space !== false) ||
      (step.type === 'Strip' && step.content === ' ' && Number(step.start) > 0),
  );
