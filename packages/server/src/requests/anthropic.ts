import type { ChatOptions, Model, SchemaRules, StructuredOptions } from '@quern/runtime';
import * as z from 'zod';
import { badField } from '../errors.js';
import { block, harmless, text } from './anthropic-blocks.js';
import { toolFields } from './anthropic-tools.js';
import { keyOrder, modelName, notSupported, orNull, stream, whole } from './fields.js';
import { schemaOf } from './response-format.js';

const message = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(block)]),
});

const format = orNull(
  z.strictObject({
    type: z.literal('json_schema'),
    schema: z.record(z.string(), z.unknown()),
    name: harmless,
  }),
);

const fields = {
  model: modelName,
  messages: z.array(message).min(1),
  system: orNull(z.union([z.string(), z.array(text)])),
  ...toolFields,
  thinking: orNull(
    z.strictObject({
      type: z.enum(['enabled', 'disabled', 'adaptive', 'between_tools']),
      budget_tokens: harmless,
      display: harmless,
    }),
  ),
  output_config: orNull(z.strictObject({ format, effort: harmless, task_budget: harmless })),
  output_format: format,
  mcp_servers: orNull(
    z.array(z.unknown()).max(0, 'mcp_servers is not supported: connect them in the client, as tools'),
  ),
  container: notSupported('container'),
  stop_sequences: orNull(z.array(z.string().min(1)).max(16)),
  stream,
  key_order: keyOrder,
  temperature: orNull(z.number().min(0).max(1)),
  top_k: orNull(whole(0)),
  top_p: orNull(z.number().min(Number.MIN_VALUE).max(1)),
  cache_control: harmless,
  context_management: harmless,
  diagnostics: harmless,
  inference_geo: harmless,
  metadata: harmless,
  service_tier: harmless,
  speed: harmless,
  user_profile_id: harmless,
  workspace_id: harmless,
};

/** The body of POST /v1/messages/count_tokens: clients may send that of /v1/messages. */
export const countRequest = z.strictObject({ ...fields, max_tokens: orNull(whole(1)) });

/** The body of POST /v1/messages. */
export const messagesRequest = z.strictObject({ ...fields, max_tokens: whole(1) });

export type CountRequest = z.output<typeof countRequest>;
export type MessagesRequest = z.output<typeof messagesRequest>;

/** What the answer must be: `output_config.format`, or its older name `output_format`. */
export function structureOf({ output_config, output_format }: CountRequest): StructuredOptions & SchemaRules {
  const format = output_config?.format ?? output_format;
  return format ? schemaOf({ schema: format.schema }) : {};
}

/** The switch for thoughts, where the model's template has one. */
export function thinkingOf(
  { thinking }: CountRequest,
  { chatTemplate }: Model,
  notice: (text: string) => void,
): Pick<ChatOptions, 'extra'> {
  if (!thinking) return {};
  const variable = chatTemplate?.thinkingVariable;
  if (variable !== undefined) return { extra: { [variable]: thinking.type !== 'disabled' } };
  if (thinking.type === 'disabled') notice('the chat template of this model has no switch for thinking');
  return {};
}

/** The start of the answer (a prefill): the text of a last message that is of the assistant. @throws ApiError 400 */
export function prefillOf({ messages }: Pick<CountRequest, 'messages'>): string | undefined {
  const { role, content } = messages.at(-1)!;
  if (role !== 'assistant') return undefined;
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const text = blocks.map((each) => (each.type === 'text' ? each.text : '')).join('');
  if (blocks.some(({ type }) => type !== 'text') || text === '')
    throw badField(
      'messages',
      'the last message is of the assistant: the answer continues it, so it must be text alone, and not empty',
    );
  if (messages.length === 1)
    throw badField('messages', 'the last message is of the assistant: put a question before it');
  return text;
}

/** @throws ApiError 400 for fields that do not fit together */
export function needFitting(body: CountRequest, { tools, toolChoice }: ChatOptions): void {
  const calls = (tools as readonly unknown[] | undefined)?.length && toolChoice !== 'none';
  const field = body.output_config?.format ? 'output_config.format' : 'output_format';
  const isStructured = Boolean(body.output_config?.format ?? body.output_format);
  if (isStructured && calls)
    throw badField(field, `${field} goes with no tools: leave one of them out, or send tool_choice: none`);
  if (prefillOf(body) === undefined || !(calls || isStructured)) return;
  throw badField(
    'messages',
    `the last message is of the assistant: an answer is continued without ${calls ? 'tools' : field}`,
  );
}
