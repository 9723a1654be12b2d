import { randomUUID } from 'node:crypto';
import type { ChatOptions, GenerationResult } from '@quern/runtime';
import { begun } from '../chat/begun.js';
import { type Block, blocksOf, wholeAnswer } from '../chat/blocks.js';
import { argumentsOf } from '../chat/call-arguments.js';
import { answer, type TurnEvent, turn } from '../chat/turn.js';
import type { Call, ServerContext } from '../context.js';
import type { ApiError } from '../errors.js';
import { generatorFor, modelFor } from '../models.js';
import {
  chatMessages,
  countRequest,
  type MessagesRequest,
  messagesRequest,
  needNoPrefill,
  toolsOf,
} from '../requests/anthropic.js';
import { parse, readJson } from '../requests/parse.js';
import { event, eventStream } from '../sse.js';
import { wholeJson } from '../whole.js';

/** POST /v1/messages, in Anthropic's form */
export async function messages(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(messagesRequest, await readJson(request), call);
  needNoPrefill(body);
  const served = generatorFor(context.options, body.model);
  const options = { ...optionsOf(body), signal: call.signal, onNotice: call.notice };
  const events = turn(served, answer(chatMessages(body), options), context.metrics, 'tools');
  const head = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model: served.name };
  if (body.stream) return eventStream(streamOf(await begun(events, call), head), call, anthropicEvent, ping);
  const whole = wholeAnswer(events).then(({ blocks, result }) => ({
    ...head,
    content: blocks.map(show),
    ...stopOf(result, blocks),
    usage: usageOf(result),
  }));
  return wholeJson(whole, call, anthropicError);
}

/** Anthropic's event for a stream in which nothing happens. */
const ping = event({ type: 'ping' }, 'ping');

/** POST /v1/messages/count_tokens */
export async function countTokens(
  request: Request,
  { options }: ServerContext,
  call: Call,
): Promise<Response> {
  const body = parse(countRequest, await readJson(request), call);
  const { model } = modelFor(options.models, 'generation', body.model);
  const ids = await model.chatTokens(chatMessages(body), { tools: toolsOf(body).tools });
  return Response.json({ input_tokens: ids.length });
}

/** An error in Anthropic's form. */
export const anthropicError = ({ type, message }: ApiError) => ({
  type: 'error',
  error: { type: type === 'server_error' ? 'api_error' : type, message },
});

const anthropicEvent = (error: ApiError): string => event(anthropicError(error), 'error');

const optionsOf = (body: MessagesRequest): ChatOptions => ({
  maxTokens: body.max_tokens,
  temperature: body.temperature ?? 1,
  topK: body.top_k ?? 0,
  topP: body.top_p ?? 1,
  minP: 0,
  stop: body.stop_sequences,
  keyOrder: body.key_order,
  ...toolsOf(body),
});

const usageOf = ({ promptTokens, cachedTokens, tokens }: GenerationResult) => ({
  input_tokens: promptTokens - cachedTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cachedTokens,
  output_tokens: tokens.length,
});

const reasons = {
  eos: 'end_turn',
  calls: 'tool_use',
  stop: 'stop_sequence',
  length: 'max_tokens',
  context: 'max_tokens',
  abort: 'max_tokens',
} as const;

function stopOf({ reason, stop }: GenerationResult, blocks: readonly Block[]) {
  const calls = blocks.some(({ kind }) => kind === 'call') && reasons[reason] !== 'max_tokens';
  return { stop_reason: calls ? 'tool_use' : reasons[reason], stop_sequence: stop ?? null };
}

function show({ kind, id, name, text }: Block) {
  if (kind === 'text') return { type: 'text', text };
  if (kind === 'thinking') return { type: 'thinking', thinking: text, signature: '' };
  return { type: 'tool_use', id, name, input: argumentsOf(text) };
}

function delta({ kind }: Block, text: string) {
  if (kind === 'text') return { type: 'text_delta', text };
  return kind === 'thinking'
    ? { type: 'thinking_delta', thinking: text }
    : { type: 'input_json_delta', partial_json: text };
}

async function* streamOf(events: AsyncIterable<TurnEvent>, head: object): AsyncGenerator<string> {
  const send = (type: string, data: object) => event({ type, ...data }, type);
  const usage = {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  };
  yield send('message_start', {
    message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage },
  });
  for await (const each of blocksOf(events)) {
    if (each.type === 'end') {
      yield send('message_delta', { delta: stopOf(each.result, each.blocks), usage: usageOf(each.result) });
      yield send('message_stop', {});
      continue;
    }
    const { index } = each.block;
    if (each.type === 'open') yield send('content_block_start', { index, content_block: empty(each.block) });
    else if (each.type === 'close') yield send('content_block_stop', { index });
    else yield send('content_block_delta', { index, delta: delta(each.block, each.text) });
  }
}

const empty = (block: Block) => show({ ...block, text: '' });
