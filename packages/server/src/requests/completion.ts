import * as z from 'zod';
import { badField } from '../errors.js';
import {
  harmless,
  maxTokens,
  modelName,
  n,
  orNull,
  sampling,
  stream,
  streamOptions,
  watchFields,
  whole,
} from './fields.js';
import { structureFields } from './structure.js';

const ids = z.array(whole(0)).min(1);

/** The body of POST /v1/completions. */
export const completionRequest = z.strictObject({
  ...harmless,
  ...sampling,
  model: modelName,
  prompt: z.union([z.string(), ids, z.array(z.string()).min(1).max(256), z.array(ids).min(1).max(256)], {
    error: 'must be a text, token ids, or a list of up to 256 texts or lists of token ids',
  }),
  max_tokens: maxTokens,
  n,
  best_of: orNull(whole(1)),
  echo: orNull(z.boolean()),
  stream,
  stream_options: streamOptions,
  ...watchFields,
  logprobs: orNull(whole(0, 20)),
  ...structureFields,
  suffix: orNull(z.string()),
});

export type CompletionRequest = z.output<typeof completionRequest>;

/** The prompts of a request: one, or a list of them. */
export function promptsOf({ prompt }: CompletionRequest): readonly (string | readonly number[])[] {
  if (typeof prompt === 'string') return [prompt];
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as (string | number[])[]);
}

/** @throws ApiError 400 for fields that do not fit together */
export function needFitting(body: CompletionRequest): void {
  const { best_of, n: answers = 1, echo, logprobs } = body;
  if ((best_of ?? answers) !== answers)
    throw badField('best_of', 'best_of must equal n: other answers are not ranked here');
  if (echo && logprobs !== undefined)
    throw badField('logprobs', 'logprobs with echo is not supported: a prompt has no log-probabilities here');
  if (body.suffix && promptsOf(body).some((prompt) => typeof prompt !== 'string'))
    throw badField('suffix', 'suffix needs a prompt of text, not of token ids');
}
