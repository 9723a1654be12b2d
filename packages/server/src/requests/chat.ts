import type { ChatMessage } from '@quern/runtime';
import { z } from 'zod';
import { badField } from '../errors.js';
import {
  harmless,
  maxTokens,
  modelName,
  n,
  notSupported,
  orNull,
  reasoningEffort,
  sampling,
  stream,
  streamOptions,
  whole,
} from './fields.js';
import { responseFormat } from './response-format.js';
import { needArguments, toolFields } from './tools.js';

const textPart = z.object({ type: z.literal('text'), text: z.string() });

const part = z.union([textPart, z.object({ type: z.literal('refusal'), refusal: z.string() })], {
  error: 'content parts must have the type text: this model reads no images, sounds or files',
});

const content = z.union([z.string(), z.array(part)]);

const toolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content, name: z.string().optional() }),
  z.object({ role: z.literal('developer'), content, name: z.string().optional() }),
  z.object({ role: z.literal('user'), content, name: z.string().optional() }),
  z.object({
    role: z.literal('assistant'),
    content: content.nullish(),
    name: z.string().optional(),
    refusal: z.string().nullish(),
    reasoning: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);

/** The body of POST /v1/chat/completions. */
export const chatRequest = z.strictObject({
  ...harmless,
  ...sampling,
  model: modelName,
  messages: z.array(message).min(1),
  max_tokens: maxTokens,
  max_completion_tokens: maxTokens,
  n,
  stream,
  stream_options: streamOptions,
  logprobs: orNull(z.boolean()),
  top_logprobs: orNull(whole(0, 20)),
  response_format: responseFormat,
  chat_template_kwargs: orNull(z.record(z.string(), z.unknown())),
  reasoning_effort: reasoningEffort,
  verbosity: z.unknown().optional(),
  ...toolFields,
  functions: notSupported('functions'),
  function_call: notSupported('function_call'),
  modalities: orNull(z.array(z.literal('text'))),
  audio: notSupported('audio'),
  prediction: notSupported('prediction'),
  web_search_options: notSupported('web_search_options'),
});

export type ChatRequest = z.output<typeof chatRequest>;

/** The messages as the templates know them. */
export const messagesOf = ({ messages }: ChatRequest): ChatMessage[] =>
  messages.map(
    ({ role, ...rest }) => ({ ...rest, role: role === 'developer' ? 'system' : role }) as ChatMessage,
  );

/** @throws ApiError 400 for fields that do not fit together */
export function needFitting({
  messages,
  logprobs,
  top_logprobs,
  max_tokens,
  max_completion_tokens,
}: ChatRequest): void {
  for (const [index, message] of messages.entries())
    for (const [at, call] of ('tool_calls' in message ? (message.tool_calls ?? []) : []).entries())
      needArguments(call.function.arguments, `messages.${index}.tool_calls.${at}.function.arguments`);
  if (top_logprobs !== undefined && !logprobs)
    throw badField('top_logprobs', 'top_logprobs needs logprobs: true');
  if (max_tokens !== undefined && max_completion_tokens !== undefined && max_tokens !== max_completion_tokens)
    throw badField('max_tokens', 'max_tokens and max_completion_tokens differ: give one of them');
}
