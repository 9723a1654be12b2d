import { atOnce } from '@quern/core';
import { fromByteLevel } from './byte-level.js';
import { badVocabulary } from './error.js';
import { fromSpaceMarks } from './sentencepiece-bpe.js';
import { TokenType, Vocabulary } from './vocabulary.js';

/** Any object of a JSON file. */
export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An entry of tokenizer.json's `added_tokens`. */
export interface AddedToken {
  id: number;
  content: string;
  special: boolean;
}

const utf8 = new TextEncoder();

export function addedTokens(tokenizer: Json): AddedToken[] {
  const list: readonly unknown[] = Array.isArray(tokenizer.added_tokens) ? tokenizer.added_tokens : [];
  return list
    .filter(isJson)
    .flatMap(({ id, content, special }) =>
      typeof id === 'number' && typeof content === 'string'
        ? [{ id, content, special: special === true }]
        : [],
    );
}

/**
 * The tokens of a tokenizer.json. `specials`: spellings that other files of the folder declare as special.
 *
 * @throws TokenizerError BAD_VOCABULARY
 */
export function jsonVocabulary(tokenizer: Json, specials: ReadonlySet<string>): Vocabulary {
  const model = isJson(tokenizer.model) ? tokenizer.model : {};
  const spellings: string[] = [];
  for (const [spelling, id] of modelTokens(model)) spellings[id] = spelling;
  const added = addedTokens(tokenizer);
  for (const { id, content } of added) spellings[id] = content;
  if (spellings.length === 0)
    throw badVocabulary('tokenizer.json has no vocabulary: model.vocab is missing or empty');

  const filled = Array.from(spellings, (spelling) => spelling ?? '');
  const types = Uint8Array.from(filled, (spelling) =>
    specials.has(spelling) ? TokenType.control : TokenType.normal,
  );
  if (model.byte_fallback === true) markBytes(filled, types);
  const isByteLevel = hasStep(tokenizer.decoder, 'ByteLevel'); // then added tokens are not spelled in its alphabet
  const plain = isByteLevel ? TokenType.user : TokenType.normal;
  for (const { id, special } of added) types[id] = special ? TokenType.control : plain;
  return atOnce(Vocabulary.of(filled, types, spellingToBytes(tokenizer.decoder)));
}

/** BPE and WordPiece: `{spelling: id}`; Unigram: `[[spelling, score], …]`. */
function modelTokens(model: Json): [string, number][] {
  if (Array.isArray(model.vocab)) {
    const pieces: readonly unknown[] = model.vocab;
    return pieces.map((piece, id) => [Array.isArray(piece) ? String(piece[0]) : String(piece), id]);
  }
  if (!isJson(model.vocab)) return [];
  return Object.entries(model.vocab).map(([spelling, id]) => [spelling, checkedId(id, spelling)]);
}

const MAX_TOKENS = 10_000_000; // ids come from a file: do not make an array of any length it asks for

function checkedId(id: unknown, spelling: string): number {
  if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < MAX_TOKENS) return id;
  throw badVocabulary(
    `tokenizer.json gives the token "${spelling}" the id ${String(id)}; ids are whole numbers from 0`,
  );
}

function markBytes(spellings: readonly string[], types: Uint8Array): void {
  for (const [id, spelling] of spellings.entries()) {
    if (/^<0x[0-9A-F]{2}>$/.test(spelling)) types[id] = TokenType.byte;
  }
}

function spellingToBytes(decoder: unknown): (spelling: string) => Uint8Array {
  const steps = decoderSteps(decoder);
  if (hasStep(decoder, 'ByteLevel')) return fromByteLevel;
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
export function dropsFirstSpace(tokenizer: Json): boolean {
  return decoderSteps(tokenizer.decoder).some(
    (step) =>
      step.type === 'WordPiece' ||
      (step.type === 'Metaspace' && step.prepend_scheme !== 'never' && step.add_prefix_space !== false) ||
      (step.type === 'Strip' && step.content === ' ' && Number(step.start) > 0),
  );
}

function decoderSteps(decoder: unknown): Json[] {
  if (!isJson(decoder)) return [];
  return decoder.type === 'Sequence' && Array.isArray(decoder.decoders)
    ? decoder.decoders.flatMap(decoderSteps)
    : [decoder];
}

const hasStep = (decoder: unknown, type: string) => decoderSteps(decoder).some((step) => step.type === type);
