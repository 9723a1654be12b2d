import type { ChatOptions, SchemaRules, StructuredOptions } from '@quern/runtime';
import * as z from 'zod';
import {
  harmless,
  maxTokens,
  modelName,
  notSupported,
  orNull,
  reasoningEffort,
  sampling,
  stream,
  thinkingOff,
  whole,
} from './fields.js';
import { schemaOf } from './response-format.js';
import { type Item, item, userMessage } from './response-items.js';
import { responseToolFields } from './response-tools.js';

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string().optional(),
    description: z.string().nullish(),
    strict: z.boolean().nullish(),
    schema: z.record(z.string(), z.unknown()),
  }),
]);

const reasoning = z.strictObject({
  effort: reasoningEffort,
  summary: z.unknown().optional(),
  generate_summary: z.unknown().optional(),
  context: z.unknown().optional(),
});

/** The body of POST /v1/responses and of POST /v1/responses/input_tokens. */
export const responsesRequest = z.strictObject({
  ...harmless,
  ...sampling,
  model: modelName,
  input: orNull(z.union([z.string(), z.array(item)])),
  instructions: orNull(z.string()),
  max_output_tokens: maxTokens,
  top_logprobs: orNull(whole(0, 20)),
  stream,
  stream_options: z.unknown().optional(),
  store: orNull(z.boolean()),
  text: orNull(z.strictObject({ format: format.nullish(), verbosity: z.unknown().optional() })),
  reasoning: orNull(reasoning),
  include: orNull(z.array(z.string())),
  truncation: orNull(z.enum(['auto', 'disabled'])),
  background: orNull(
    z.literal(false, { error: 'background answers are not supported: leave background out' }),
  ),
  ...responseToolFields,
  previous_response_id: orNull(z.string()),
  conversation: notSupported('conversation'),
  prompt: notSupported('prompt'),
  max_tool_calls: z.unknown().optional(),
  client_metadata: z.unknown().optional(),
});

export type ResponsesRequest = z.output<typeof responsesRequest>;

/** The items of a request's own input; a text is a message of the user. */
export const itemsOf = ({ input = [] }: ResponsesRequest): readonly Item[] =>
  typeof input === 'string' ? [userMessage(input)] : input;

export function structureOfText({ text }: ResponsesRequest): StructuredOptions & SchemaRules {
  if (text?.format?.type === 'json_object') return { schema: { type: 'object' } };
  return text?.format?.type === 'json_schema' ? schemaOf(text.format) : {};
}

/** The number of alternatives of each token; undefined where the request asks for no log-probabilities. */
export const logprobsOf = ({ include, top_logprobs }: ResponsesRequest): number | undefined =>
  include?.includes('message.output_text.logprobs') ? (top_logprobs ?? 0) : undefined;

/** Variables of templates that switch thoughts off; others do not read them. */
export const thinkingOf = ({ reasoning }: ResponsesRequest): Pick<ChatOptions, 'extra'> =>
  reasoning?.effort === 'none' ? { extra: thinkingOff } : {};
