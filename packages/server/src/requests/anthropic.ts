import { type ChatMessage, type ChatOptions, stringifyJson } from '@quern/runtime';
import { z } from 'zod';
import { badField } from '../errors.js';
import { keyOrder, modelName, orNull, stream, whole } from './fields.js';
import { described } from './tools.js';

const cached = { cache_control: z.unknown().optional() };
const text = z.object({ type: z.literal('text'), text: z.string(), ...cached });
const toolUse = z.object({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  ...cached,
});
const toolResult = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(text)]).optional(),
  is_error: z.boolean().optional(),
  ...cached,
});
const thinking = z.object({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: z.string().optional(),
});

const block = z.discriminatedUnion('type', [text, toolUse, toolResult, thinking], {
  error: 'a block must be text, tool_use, tool_result or thinking: this model reads no images or documents',
});

const message = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(block)]),
});

const prompt = {
  model: modelName,
  messages: z.array(message).min(1),
  system: orNull(z.union([z.string(), z.array(text)])),
  tools: orNull(
    z.array(
      z.object({
        name: z.string(),
        description: z.string().optional(),
        input_schema: z.record(z.string(), z.unknown()),
        strict: z.boolean().nullish(),
        type: z.literal('custom').optional(),
        ...cached,
      }),
    ),
  ),
  tool_choice: orNull(
    z.object({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().optional(),
    }),
  ),
  thinking: orNull(
    z.object({ type: z.enum(['enabled', 'disabled', 'adaptive']), budget_tokens: z.number().optional() }),
  ),
};

/** The body of POST /v1/messages/count_tokens. */
export const countRequest = z.strictObject(prompt);

/** The body of POST /v1/messages. */
export const messagesRequest = z.strictObject({
  ...prompt,
  max_tokens: whole(1),
  stop_sequences: orNull(z.array(z.string().min(1)).max(16)),
  stream,
  key_order: keyOrder,
  temperature: orNull(z.number().min(0).max(1)),
  top_k: orNull(whole(0)),
  top_p: orNull(z.number().min(Number.MIN_VALUE).max(1)),
  metadata: z.unknown().optional(),
  service_tier: z.unknown().optional(),
});

export type CountRequest = z.output<typeof countRequest>;
export type MessagesRequest = z.output<typeof messagesRequest>;

/** A prefill: an answer's beginning, which templates would show as a finished turn. @throws ApiError 400 */
export function needNoPrefill({ messages }: MessagesRequest): void {
  if (messages.at(-1)!.role === 'assistant')
    throw badField('messages', 'the last message is of the assistant: prefills are not supported');
}

const join = (content: string | readonly { readonly text: string }[] | undefined): string =>
  typeof content === 'string' ? content : (content ?? []).map((each) => each.text).join('');

/** The messages in OpenAI's form, as the templates know them. */
export function chatMessages({ system, messages }: CountRequest): ChatMessage[] {
  const first = system === undefined ? [] : [{ role: 'system', content: join(system) }];
  return [...first, ...messages.flatMap(({ role, content }) => fromBlocks(role, content))];
}

type Blocks = Exclude<z.output<typeof message>['content'], string>;

function fromBlocks(role: string, content: string | Blocks): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }];
  const results = content.filter((each) => each.type === 'tool_result');
  const calls = content.filter((each) => each.type === 'tool_use');
  const texts = join(content.filter((each) => each.type === 'text'));
  const thoughts = content.filter((each) => each.type === 'thinking').map((each) => each.thinking);
  const own: ChatMessage = {
    role,
    content: texts,
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('') }),
    ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
  };
  const answers = results.map((each) => ({
    role: 'tool',
    tool_call_id: each.tool_use_id,
    content: join(each.content),
  }));
  return texts === '' && calls.length === 0 && answers.length > 0 ? answers : [...answers, own];
}

const toCall = ({ id, name, input }: z.output<typeof toolUse>) => ({
  id,
  type: 'function',
  function: { name, arguments: stringifyJson(input) ?? '{}' },
});

const choices = { auto: 'auto', any: 'required', none: 'none' } as const;

/** The tools in OpenAI's form. */
export function toolsOf({ tools, tool_choice: choice }: CountRequest): ChatOptions {
  if (!tools) return {};
  const named = choice?.type === 'tool' ? { name: choice.name ?? '' } : choice && choices[choice.type];
  return {
    tools: tools.map(({ input_schema: parameters, ...tool }) => described({ ...tool, parameters })),
    toolChoice: named,
    parallelCalls:
      choice?.disable_parallel_tool_use === undefined ? undefined : !choice.disable_parallel_tool_use,
  };
}
