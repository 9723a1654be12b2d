import type { ChatMessage, SchemaRules, StructuredOptions } from '@quern/runtime';
import { z } from 'zod';
import {
  harmless,
  maxTokens,
  modelName,
  notSupported,
  orNull,
  reasoningEffort,
  sampling,
  stream,
  whole,
} from './fields.js';
import { schemaOf } from './response-format.js';
import { flatToolFields, needArguments } from './tools.js';

const part = z.union(
  [
    z.object({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() }),
    z.object({ type: z.literal('refusal'), refusal: z.string() }),
  ],
  { error: 'content must be input_text or output_text: this model reads no images, sounds or files' },
);

const message = z.object({
  type: z.literal('message').optional(),
  id: z.string().optional(),
  status: z.string().optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), z.array(part)]),
});

const call = z.object({
  type: z.literal('function_call'),
  id: z.string().optional(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status: z.string().optional(),
});

const output = z.object({
  type: z.literal('function_call_output'),
  call_id: z.string(),
  output: z.union([z.string(), z.array(part)]),
});
const reasoning = z.object({ type: z.literal('reasoning') });

const format = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string().optional(),
    strict: z.boolean().nullish(),
    schema: z.record(z.string(), z.unknown()),
  }),
]);

const { n: _, ...fields } = { ...sampling, n: undefined };

/** The body of POST /v1/responses. Answers are not stored. */
export const responsesRequest = z.strictObject({
  ...harmless,
  ...fields,
  model: modelName,
  input: z.union([z.string(), z.array(z.union([message, call, output, reasoning])).min(1)]),
  instructions: orNull(z.string()),
  max_output_tokens: maxTokens,
  top_logprobs: orNull(whole(0, 20)),
  stream,
  stream_options: z.unknown().optional(),
  text: orNull(z.object({ format: format.optional(), verbosity: z.unknown().optional() })),
  reasoning: orNull(z.looseObject({ effort: reasoningEffort })),
  include: z.unknown().optional(),
  truncation: orNull(z.literal('disabled', { error: 'a prompt is never cut: leave truncation out' })),
  background: orNull(z.literal(false, { error: 'answers are not stored: leave background out' })),
  ...flatToolFields,
  previous_response_id: notSupported('previous_response_id'),
  conversation: notSupported('conversation'),
  prompt: notSupported('prompt'),
  max_tool_calls: z.unknown().optional(),
});

export type ResponsesRequest = z.output<typeof responsesRequest>;

type Parts = string | readonly z.output<typeof part>[];

const textOf = (parts: Parts): string =>
  typeof parts === 'string'
    ? parts
    : parts.map((each) => ('text' in each ? each.text : each.refusal)).join('');

/** The conversation in the form of chat completions. @throws ApiError 400 for arguments of calls that are no object */
export function conversationOf({ input, instructions }: ResponsesRequest): ChatMessage[] {
  const first = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  if (typeof input === 'string') return [...first, { role: 'user', content: input }];
  for (const [index, item] of input.entries())
    if ('arguments' in item) needArguments(item.arguments, `input.${index}.arguments`);
  return [...first, ...input.flatMap(toMessage)];
}

function toMessage(item: Exclude<ResponsesRequest['input'], string>[number]): ChatMessage[] {
  if ('role' in item)
    return [{ role: item.role === 'developer' ? 'system' : item.role, content: textOf(item.content) }];
  if (item.type === 'function_call_output')
    return [{ role: 'tool', tool_call_id: item.call_id, content: textOf(item.output) }];
  if (item.type === 'reasoning') return [];
  const { name } = item;
  const one = { id: item.call_id, type: 'function', function: { name, arguments: item.arguments } };
  return [{ role: 'assistant', content: '', tool_calls: [one] }];
}

export function structureOfText({ text }: ResponsesRequest): StructuredOptions & SchemaRules {
  if (text?.format?.type === 'json_object') return { schema: { type: 'object' } };
  return text?.format?.type === 'json_schema' ? schemaOf(text.format) : {};
}
