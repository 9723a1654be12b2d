import { randomUUID } from 'node:crypto';
import type { Model } from '@quern/runtime';
import { type AnswerEnd, type Block, isCut } from '../chat/blocks.js';
import { customInput } from '../chat/custom-input.js';
import { textPartLogprobs } from '../chat/logprobs.js';
import type { ApiError } from '../errors.js';
import { encodeThoughts } from '../requests/encrypted-content.js';
import type { Item } from '../requests/response-items.js';
import type { Callee } from '../requests/response-tools.js';
import type { ResponsesRequest } from '../requests/responses.js';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** What a response shows of its request and does not change while it is generated. */
export const headOf = (body: ResponsesRequest, model: string, store: boolean) => ({
  id: `resp_${randomUUID()}`,
  object: 'response',
  created_at: now(),
  model,
  background: false,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  max_tool_calls: body.max_tool_calls ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: body.previous_response_id ?? null,
  prompt_cache_key: textOrNull(body.prompt_cache_key),
  reasoning: { effort: body.reasoning?.effort ?? null, summary: textOrNull(body.reasoning?.summary) },
  safety_identifier: textOrNull(body.safety_identifier),
  service_tier: textOrNull(body.service_tier) ?? 'default',
  store,
  temperature: body.temperature ?? 1,
  text: {
    format: body.text?.format ?? { type: 'text' },
    verbosity: textOrNull(body.text?.verbosity) ?? 'medium',
  },
  tool_choice: body.tool_choice ?? 'auto',
  tools: (body.tools ?? []).map(shownTool),
  top_logprobs: body.top_logprobs ?? 0,
  top_p: body.top_p ?? 1,
  truncation: 'disabled',
  ...(typeof body.user === 'string' && { user: body.user }),
});

const now = (): number => Math.floor(Date.now() / 1000);

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** A tool with the defaults of what it leaves out. */
const shownTool = (tool: NonNullable<ResponsesRequest['tools']>[number]): object =>
  tool.type === 'function'
    ? { description: null, parameters: null, ...tool, strict: tool.strict ?? false }
    : tool;

export type Head = ReturnType<typeof headOf>;

/** What the items of a response need of its request. */
export interface ResponseOf {
  readonly head: Head;
  readonly model: Model;
  /** Thoughts also as `encrypted_content`. */
  readonly encodesThoughts: boolean;
  /** By the names that the model sees. */
  readonly callees: ReadonlyMap<string, Callee>;
}

/** A response that is generated. */
export const begunResponse = ({ head }: ResponseOf) => ({
  ...head,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
});

export function endedResponse(
  of: ResponseOf,
  blocks: readonly Block[],
  { result, thinkingTokens }: AnswerEnd,
) {
  const { promptTokens, cachedTokens, tokens } = result;
  const status = isCut(result) ? 'incomplete' : 'completed';
  return {
    ...of.head,
    status,
    completed_at: isCut(result) ? null : now(),
    error: null,
    incomplete_details: isCut(result) ? { reason: 'max_output_tokens' } : null,
    output: blocks.map((block) => itemOf(of, block, block === blocks.at(-1) ? status : 'completed')),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
      output_tokens: tokens.length,
      output_tokens_details: { reasoning_tokens: thinkingTokens },
      total_tokens: promptTokens + tokens.length,
    },
  };
}

/** @param blocks what was generated before the error */
export const failedResponse = (of: ResponseOf, blocks: readonly Block[], error: ApiError) => ({
  ...of.head,
  status: 'failed',
  error: { code: codeOf(error), message: error.message },
  incomplete_details: null,
  output: blocks.map((block) => itemOf(of, block, block === blocks.at(-1) ? 'incomplete' : 'completed')),
  usage: null,
});

/** OpenAI's words for errors of a response: clients retry some, and shorten a conversation that is too long. */
function codeOf({ status, code }: ApiError): string {
  if (code === 'context_length_exceeded') return code;
  if (status === 429) return 'rate_limit_exceeded';
  return status >= 500 ? 'server_error' : 'invalid_prompt';
}

export const calleeOf = ({ callees }: ResponseOf, { name }: Block): Callee =>
  callees.get(name) ?? { type: 'function', name };

/** A block as an item of the output; 'incomplete': the last one of a cut answer. */
export function itemOf(of: ResponseOf, block: Block, status: ItemStatus) {
  const id = idOf(of, block);
  const { kind } = block;
  if (kind === 'call') return callItem(of, block, status);
  const content = status === 'in_progress' ? [] : [partOf(of, block)];
  if (kind === 'thinking') {
    const encoded = of.encodesThoughts &&
      status !== 'in_progress' && { encrypted_content: encodeThoughts(block.text) };
    return { type: 'reasoning' as const, id, summary: [], content, ...encoded, status };
  }
  return { type: 'message' as const, id, role: 'assistant' as const, content, status };
}

function callItem(of: ResponseOf, block: Block, status: ItemStatus) {
  const { type, ...callee } = calleeOf(of, block);
  const common = { id: idOf(of, block), call_id: block.id, ...callee, status };
  return type === 'custom'
    ? { type: 'custom_tool_call' as const, ...common, input: customInput(block.text) }
    : { type: 'function_call' as const, ...common, arguments: block.text };
}

/** A text, or thoughts, as a part of an item. */
export const partOf = ({ model }: ResponseOf, { kind, text, logprobs }: Block) =>
  kind === 'thinking'
    ? { type: 'reasoning_text' as const, text }
    : { type: 'output_text' as const, text, annotations: [], logprobs: textPartLogprobs(model, logprobs) };

const prefixes = { message: 'msg', reasoning: 'rs', function: 'fc', custom: 'ctc' } as const;

export function idOf(of: ResponseOf, block: Block): string {
  const kind =
    block.kind === 'call' ? calleeOf(of, block).type : block.kind === 'text' ? 'message' : 'reasoning';
  return `${prefixes[kind]}_${of.head.id.slice('resp_'.length)}_${block.index}`;
}

/** An item of an output as one of the next input. */
export const asInput = (item: ReturnType<typeof itemOf>): Item => item as Item;
