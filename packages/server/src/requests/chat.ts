import type { ChatMessage } from '@quern/runtime';
import * as z from 'zod';
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
  thinkingOff,
  watchFields,
  whole,
} from './fields.js';
import { structureFields, structureFrom } from './structure.js';
import { needArguments, toolFields } from './tools.js';
import { type Notice, placeholder, type Unread } from './unread.js';

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });

const refusalPart = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });

const unread = { image_url: 'an image', input_audio: 'a sound', file: 'a file' } as const satisfies Record<
  string,
  Unread
>;

/** What this model cannot read. */
const unreadPart = z.looseObject({ type: z.enum(['image_url', 'input_audio', 'file']) });

const readsNone = 'content parts must have the type text: this model reads no images, sounds or files';

const part = z.union([textPart, refusalPart], { error: readsNone });

const shownPart = z.union([textPart, refusalPart, unreadPart], { error: readsNone });

const content = z.union([z.string(), z.array(part)]);

/** Of messages that may show what this model cannot read. */
const shown = z.union([z.string(), z.array(shownPart)]);

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content, name: orNull(z.string()) }),
  z.strictObject({ role: z.literal('developer'), content, name: orNull(z.string()) }),
  z.strictObject({ role: z.literal('user'), content: shown, name: orNull(z.string()) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    name: orNull(z.string()),
    refusal: z.string().nullish(),
    reasoning: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    content: shown,
    tool_call_id: z.string(),
    name: orNull(z.string()),
  }),
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
  ...watchFields,
  logprobs: orNull(z.boolean()),
  top_logprobs: orNull(whole(0, 20)),
  ...structureFields,
  chat_template_kwargs: orNull(z.record(z.string(), z.unknown())),
  reasoning_effort: reasoningEffort,
  add_generation_prompt: orNull(z.boolean()),
  continue_final_message: orNull(z.boolean()),
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

type Message = ChatRequest['messages'][number];
type Part = z.output<typeof shownPart>;

/**
 * The messages as the templates know them; without the one that the answer continues. A text stands for a part that
 * this model cannot read.
 */
export const messagesOf = (
  { messages, continue_final_message }: ChatRequest,
  notice: Notice,
): ChatMessage[] =>
  (continue_final_message ? messages.slice(0, -1) : messages).map((message) => readable(message, notice));

function readable({ role, content, ...rest }: Message, notice: Notice): ChatMessage {
  const read = Array.isArray(content) ? content.map((each) => readPart(each, notice)) : content;
  return {
    ...rest,
    ...(read !== undefined && { content: read }),
    role: role === 'developer' ? 'system' : role,
  } as ChatMessage;
}

const isUnread = (each: Part): each is z.output<typeof unreadPart> => each.type in unread;

const readPart = (each: Part, notice: Notice) =>
  isUnread(each) ? { type: 'text', text: placeholder(unread[each.type], notice) } : each;

/** The start of the answer: `continue_final_message`, as in vLLM. */
export function answerStartOf({ messages, continue_final_message }: ChatRequest): string | undefined {
  const last = continue_final_message ? messages.at(-1)! : undefined;
  const content = last?.role === 'assistant' ? last.content : undefined;
  return Array.isArray(content)
    ? content.map((each) => ('text' in each ? each.text : each.refusal)).join('')
    : (content ?? undefined);
}

/**
 * What the user asks now would be answered without its images; in the history a text stands for them.
 * @throws ApiError 400
 */
function needReadable(messages: ChatRequest['messages']): void {
  const index = messages.findLastIndex(({ role }) => role === 'user');
  const content = messages[index]?.content;
  if (Array.isArray(content) && content.some(isUnread))
    throw badField(`messages.${index}.content`, `messages.${index}.content: ${readsNone}`);
}

/** @throws ApiError 400 where an answer is to be continued and cannot be */
function needContinuable(body: ChatRequest): void {
  const field = 'continue_final_message';
  const { add_generation_prompt: added, continue_final_message: continued, tools, messages } = body;
  if (!continued && added === false)
    throw badField('add_generation_prompt', `add_generation_prompt: false needs ${field}: true`);
  if (!continued) return;
  const last = messages.at(-1)!;
  if (added) throw badField(field, `${field} and add_generation_prompt exclude each other`);
  if (last.role !== 'assistant' || last.tool_calls?.length || !answerStartOf(body))
    throw badField(field, `${field} needs a last message of the assistant, with a text and without calls`);
  if (messages.length === 1) throw badField('messages', `${field} needs a message before the answer`);
  if (tools?.length || structureFrom(body))
    throw badField(field, `${field} goes with neither tools nor a response_format: it continues plain text`);
}

/** @throws ApiError 400 for fields that do not fit together */
export function needFitting(body: ChatRequest): void {
  needReadable(body.messages);
  needContinuable(body);
  needFittingFields(body);
}

function needFittingFields({
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

/** Variables of templates for an effort. */
export const thinkingOf = ({ reasoning_effort }: Pick<ChatRequest, 'reasoning_effort'>) =>
  reasoning_effort === 'none' ? thinkingOff : {};
