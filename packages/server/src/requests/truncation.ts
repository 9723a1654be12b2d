import { type Embedder, type TextsOptions, TextTooLongError } from '@quern/runtime';
import * as z from 'zod';
import { ApiError, badField } from '../errors.js';
import { orNull, whole } from './fields.js';

/** Fields that allow to cut texts off at their end: as in TEI, as in vLLM. */
export const truncationFields = {
  truncate: orNull(z.boolean()),
  truncate_prompt_tokens: orNull(whole(-1)),
};

type TruncationFields = z.output<z.ZodObject<typeof truncationFields>>;

/** `truncate_prompt_tokens: -1` means the model's limit. @throws ApiError 400 */
export function truncationOf(
  { truncate, truncate_prompt_tokens: most }: TruncationFields,
  { maxTokens }: Embedder,
): Pick<TextsOptions, 'truncate' | 'maxTokens'> {
  if (most === undefined) return { truncate: truncate ?? false };
  const field = 'truncate_prompt_tokens';
  if (truncate === false)
    throw badField(field, `${field} contradicts truncate: false: leave one of them out`);
  if (most === -1) return { truncate: true };
  if (most >= 3 && most <= maxTokens) return { truncate: true, maxTokens: most };
  throw badField(field, `${field} is ${most}; it must be from 3 to ${maxTokens}, or -1 for ${maxTokens}`);
}

/**
 * `max_tokens_per_doc`, as in Cohere: documents are cut off behind that many tokens of their own, and at the model's limit.
 */
export function perDocument(
  query: string,
  most: number,
  model: Embedder,
): Pick<TextsOptions, 'truncate' | 'maxTokens'> {
  return { truncate: true, maxTokens: Math.min(model.maxTokens, besideText(query, model) + most) };
}

/** Tokens of a query, and of all that stands around a text. */
function besideText(query: string, { tokenizer, config, template }: Embedder): number {
  const end = tokenizer.encode('', { addBos: false }).length;
  if (template === undefined) return tokenizer.encode(query).length + (config.segments > 1 ? end : 2 * end);
  const prompt = template.replace('{document}', '').replace('{query}', () => query);
  return tokenizer.encode(prompt, { special: 'parse', addBos: false, addEos: false }).length;
}

/** The count for `usage`, where texts may be cut off. */
export const truncatedTexts = ({ truncate }: TextsOptions, truncated: number) =>
  truncate ? { truncated_texts: truncated } : {};

/**
 * Names the field of a text that is too long.
 * @param fieldOf the field of a text; of the query, where there is no index
 */
export const namingLongTexts =
  (fieldOf: (index: number | undefined) => string) =>
  (error: unknown): never => {
    if (!(error instanceof TextTooLongError)) throw error;
    throw new ApiError(400, error.message, fieldOf(error.index), 'context_length_exceeded');
  };
