import type { ChatMessage, GenerateOptions, StructuredOptions } from '@quern/runtime';
import * as z from 'zod';
import { badField } from '../errors.js';
import { durationMs } from './duration.js';
import { modelName, off, orNull, stream, whole } from './fields.js';
import { needArguments, toolFields } from './tools.js';
import { type Notice, placeholder } from './unread.js';

const ignored = z.unknown().optional();
const integer = (least = Number.MIN_SAFE_INTEGER) => z.number().int().min(least);

/** An option that is only supported as it is when it is off. */
const options = z.strictObject({
  num_predict: orNull(integer()),
  temperature: orNull(z.number().min(0)),
  top_k: orNull(integer()),
  top_p: orNull(z.number().min(0).max(1)),
  min_p: orNull(z.number().min(0).max(1)),
  seed: orNull(integer()),
  stop: orNull(z.union([z.string(), z.array(z.string())])),
  repeat_penalty: orNull(z.number().min(Number.MIN_VALUE)),
  repeat_last_n: orNull(integer(-1)),
  presence_penalty: orNull(z.number()),
  frequency_penalty: orNull(z.number()),
  num_ctx: orNull(integer()),
  mirostat: off('mirostat', 0),
  tfs_z: off('tfs_z', 1),
  typical_p: off('typical_p', 1),
  penalize_newline: off('penalize_newline', true),
  mirostat_tau: ignored,
  mirostat_eta: ignored,
  num_keep: ignored,
  num_batch: ignored,
  num_gpu: ignored,
  main_gpu: ignored,
  num_thread: ignored,
  num_gqa: ignored,
  numa: ignored,
  low_vram: ignored,
  f16_kv: ignored,
  use_mmap: ignored,
  use_mlock: ignored,
  vocab_only: ignored,
  draft_num_predict: ignored,
});

export type OllamaOptions = Partial<z.output<typeof options>>;

const keepAliveText = 'must be a number of seconds, or a text as "5m"; below 0: never unloaded';

/** How long the model stays after the request, in milliseconds. */
const keepAlive = orNull(
  z.union([z.number(), z.string()], { error: keepAliveText }).transform((given, context) => {
    const ms = typeof given === 'number' ? 1000 * given : durationMs(given);
    if (ms !== undefined) return ms < 0 ? Number.POSITIVE_INFINITY : ms;
    context.addIssue({ code: 'custom', message: keepAliveText });
    return z.NEVER;
  }),
);

const readsNone = 'images are not supported: this model reads text alone';

const images = orNull(z.array(z.unknown()).max(0, { error: readsNone }));

const schema = z.record(z.string(), z.unknown());

/** Fields of all routes that generate. */
const generating = {
  model: modelName,
  stream,
  options: orNull(options),
  format: orNull(z.union([z.enum(['', 'json']), schema], { error: 'must be "json" or a JSON schema' })),
  think: orNull(
    z.union([z.boolean(), z.enum(['low', 'medium', 'high', 'max'])], {
      error: 'must be true, false, "low", "medium", "high" or "max"',
    }),
  ),
  keep_alive: keepAlive,
  logprobs: orNull(z.boolean()),
  top_logprobs: orNull(whole(0, 20)),
  truncate: orNull(z.boolean()),
  shift: orNull(z.boolean()),
  _debug_render_only: off('_debug_render_only', false),
};

const toolCall = z.strictObject({
  id: orNull(z.string()),
  type: orNull(z.literal('function')),
  function: z.strictObject({
    index: ignored,
    name: z.string(),
    arguments: orNull(z.union([schema, z.string()], { error: 'must be an object' })),
  }),
});

const message = z.strictObject({
  role: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['system', 'user', 'assistant', 'tool'])),
  content: orNull(z.string()).transform((text) => text ?? ''),
  thinking: orNull(z.string()),
  images: orNull(z.array(z.unknown())),
  tool_calls: orNull(z.array(toolCall)),
  tool_name: orNull(z.string()),
  name: orNull(z.string()),
  tool_call_id: orNull(z.string()),
});

/** The body of POST /api/chat. */
export const ollamaChatRequest = z.strictObject({
  ...generating,
  messages: orNull(z.array(message)).transform((given) => given ?? []),
  tools: toolFields.tools,
  tool_choice: toolFields.tool_choice,
});

/** The body of POST /api/generate. */
export const ollamaGenerateRequest = z.strictObject({
  ...generating,
  prompt: orNull(z.string()).transform((text) => text ?? ''),
  system: orNull(z.string()),
  raw: orNull(z.boolean()),
  images,
  template: orNull(
    z.literal('', { error: 'template is not supported: the model has its own; send raw: true for none' }),
  ),
  suffix: orNull(z.literal('', { error: 'suffix is not supported: leave it out' })),
  context: orNull(
    z.array(whole(0)).max(0, { error: 'context is not supported: send the conversation to /api/chat' }),
  ),
});

/** The body of POST /api/embed. */
export const ollamaEmbedRequest = z.strictObject({
  model: modelName,
  input: orNull(z.union([z.string(), z.array(z.string())], { error: 'must be a text or a list of texts' })),
  truncate: orNull(z.boolean()),
  dimensions: orNull(whole(0)),
  keep_alive: keepAlive,
  options: orNull(schema),
});

/** The body of POST /api/embeddings, which /api/embed has replaced. */
export const ollamaEmbeddingsRequest = z.strictObject({
  model: modelName,
  prompt: orNull(z.string()).transform((text) => text ?? ''),
  keep_alive: keepAlive,
  options: orNull(schema),
});

/** A model under the present or the former name of the field. */
const named = { model: modelName, name: modelName };

/** The body of POST /api/show. */
export const ollamaShowRequest = z.strictObject({
  ...named,
  verbose: orNull(z.boolean()),
  system: ignored,
  template: ignored,
  options: ignored,
});

/** The body of POST /api/pull. */
export const ollamaPullRequest = z.strictObject({
  ...named,
  stream,
  insecure: ignored,
  username: ignored,
  password: ignored,
});

export type OllamaGenerating = Pick<
  z.output<typeof ollamaChatRequest>,
  Exclude<keyof typeof generating, '_debug_render_only'>
>;
export type OllamaChatRequest = z.output<typeof ollamaChatRequest>;
export type OllamaGenerateRequest = z.output<typeof ollamaGenerateRequest>;
export type OllamaEmbedRequest = z.output<typeof ollamaEmbedRequest>;

/** Smallest positive f32 that is not subnormal: of a `topP` of 0 only the likeliest token is left. */
const leastTopP = 2 ** -126;

/** Ollama's defaults where a request says nothing. */
export const ollamaSampling = (given: OllamaOptions = {}): GenerateOptions => ({
  temperature: given.temperature ?? 0.8,
  topK: Math.max(0, given.top_k ?? 40),
  topP: Math.max(leastTopP, given.top_p ?? 0.9),
  minP: given.min_p ?? 0,
  repetitionPenalty: given.repeat_penalty ?? 1,
  penaltyWindow: given.repeat_last_n ?? 64,
  presencePenalty: given.presence_penalty ?? 0,
  frequencyPenalty: given.frequency_penalty ?? 0,
  seed: notNegative(given.seed),
  stop: [given.stop ?? []].flat().filter((text) => text !== ''),
  maxTokens: notNegative(given.num_predict),
});

/** Ollama's -1: no bound, or a random seed. */
const notNegative = (value: number | undefined) => (value === undefined || value < 0 ? undefined : value);

export const ollamaStructure = ({ format }: Pick<OllamaGenerating, 'format'>): StructuredOptions => {
  if (format === undefined || format === '') return {};
  return { schema: format === 'json' ? { type: 'object' } : format };
};

interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/**
 * The messages as the templates know them. Ollama's calls may have no ids, and its results name the tool alone: calls are
 * numbered, and a result is that of the first call of its tool that has none. In the history texts stand for images.
 * @throws ApiError 400 for arguments of calls that are no object, and for images in the user's last message
 */
export function ollamaMessages(
  { messages }: Pick<OllamaChatRequest, 'messages'>,
  notice: Notice,
): ChatMessage[] {
  needReadable(messages);
  let open: readonly OpenCall[] = [];
  let count = 0;
  return messages.map((given, index) => {
    if (given.role === 'tool') {
      const call = callOf(given, open);
      open = open.filter((each) => each !== call);
      return resultOf({ ...given, content: textOf(given, notice) }, call);
    }
    const calls = (given.tool_calls ?? []).map((call, at) => toCall(call, count + at, placeOf(index, at)));
    count += calls.length;
    open = calls.map(({ id, function: { name } }) => ({ id, name }));
    return {
      role: given.role,
      content: textOf(given, notice),
      ...(given.thinking && { reasoning_content: given.thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  });
}

type OllamaMessage = OllamaChatRequest['messages'][number];

function needReadable(messages: readonly OllamaMessage[]): void {
  const index = messages.findLastIndex(({ role }) => role === 'user');
  if (messages[index]?.images?.length)
    throw badField(`messages.${index}.images`, `messages.${index}.images: ${readsNone}`);
}

const textOf = ({ content, images = [] }: OllamaMessage, notice: Notice): string =>
  [content, ...images.map(() => placeholder('an image', notice))].filter((text) => text !== '').join('\n');

const placeOf = (message: number, call: number) =>
  `messages.${message}.tool_calls.${call}.function.arguments`;

/** Ids have nine letters and digits: Mistral's templates refuse others. */
function toCall(
  { id, function: { name, arguments: given = {} } }: NonNullable<OllamaMessage['tool_calls']>[number],
  number: number,
  place: string,
) {
  if (typeof given === 'string') needArguments(given, place);
  const own = id || `call${String(number).padStart(5, '0')}`;
  return { id: own, type: 'function', function: { name, arguments: given } };
}

function callOf(
  { tool_call_id: id, tool_name, name = tool_name }: OllamaMessage,
  open: readonly OpenCall[],
): OpenCall | undefined {
  if (id) return open.find((call) => call.id === id);
  return open.find((call) => call.name === name) ?? (name === undefined ? open[0] : undefined);
}

function resultOf(
  { content, tool_call_id, tool_name, name }: OllamaMessage,
  call: OpenCall | undefined,
): ChatMessage {
  const tool = tool_name ?? name ?? call?.name;
  const id = tool_call_id || call?.id;
  return {
    role: 'tool',
    content,
    ...(tool !== undefined && { name: tool }),
    ...(id !== undefined && { tool_call_id: id }),
  };
}

/** A prompt as a chat. */
export const promptMessages = ({ system, prompt }: OllamaGenerateRequest): ChatMessage[] => [
  ...(system ? [{ role: 'system', content: system }] : []),
  { role: 'user', content: prompt },
];

/** @throws ApiError 400 for fields that do not go with a prompt without a template */
export function needFittingRaw({ raw, system, think }: OllamaGenerateRequest): void {
  if (raw && system) throw badField('system', 'raw mode does not support template, system, or context');
  if (raw && think) throw badField('think', 'raw mode does not support think: write it into the prompt');
}
