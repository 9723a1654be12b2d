import { byteCharacters } from '../byte-level.js';
import type { AddedToken } from './added-tokens.js';
import { isJson, type Json } from './fields.js';
import type { ModelTokens } from './model-tokens.js';

/** Composing (NFC) maps at most three bytes to one. */
const MOST_COMPOSED = 3;

/**
 * The most bytes of text per token. Undefined where text may vanish, or where an unknown word of any length becomes one
 * token.
 */
export function longestTokenOf(
  tokenizer: Json,
  tokens: ModelTokens,
  added: readonly AddedToken[],
): number | undefined {
  const normalizers = stepsOf(tokenizer.normalizer, 'normalizers');
  const keepsText =
    normalizers.every(keepsLength) &&
    stepsOf(tokenizer.pre_tokenizer, 'pretokenizers').every(keepsPieces) &&
    !added.some(({ lstrip, rstrip }) => lstrip || rstrip);
  if (!keepsText || !coversBytes(tokenizer, tokens)) return undefined;
  let longest = 1;
  for (const [spelling] of tokens.entries) longest = Math.max(longest, Buffer.byteLength(spelling));
  for (const { content } of added) longest = Math.max(longest, Buffer.byteLength(content));
  return normalizers.some(({ type }) => type === 'NFC') ? longest * MOST_COMPOSED : longest;
}

function coversBytes({ model, pre_tokenizer }: Json, tokens: ModelTokens): boolean {
  if (!isJson(model) || !Array.isArray(model.merges)) return false;
  if (model.byte_fallback === true) return tokens.byteTokens().every((id) => id !== undefined);
  const isByteLevel = stepsOf(pre_tokenizer, 'pretokenizers').at(-1)?.type === 'ByteLevel';
  return isByteLevel && byteCharacters.every((byte) => tokens.find(byte) !== undefined);
}

const keepsLength = ({ type, pattern }: Json): boolean =>
  type === 'NFC' || type === 'Prepend' || (type === 'Replace' && isJson(pattern) && pattern.String === ' ');

const keepsPieces = ({ type, behavior }: Json): boolean =>
  type === 'ByteLevel' ||
  type === 'Digits' ||
  type === 'Metaspace' ||
  (type === 'Split' && behavior !== 'Removed');

/** The steps of a normalizer or pre-tokenizer, with nested sequences flattened. */
export function stepsOf(value: unknown, key: string): Json[] {
  if (!isJson(value)) return [];
  const nested: unknown = value[key];
  return Array.isArray(nested) ? nested.flatMap((step) => stepsOf(step, key)) : [value];
}
