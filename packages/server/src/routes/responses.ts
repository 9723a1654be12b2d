import { type ChatOptions, QuernError } from '@quern/runtime';
import { ownerOf } from '../access.js';
import { begun } from '../chat/begun.js';
import { wholeAnswer } from '../chat/blocks.js';
import { answer, type TurnEvent, turn } from '../chat/turn.js';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { generatorFor, modelFor } from '../models.js';
import { type Conversation, conversationOf, needReadable } from '../requests/conversation.js';
import { samplingOptions } from '../requests/generate-options.js';

import { listed } from '../requests/listed.js';

import { parse, readJson } from '../requests/parse.js';
import type { Item } from '../requests/response-items.js';
import { responseTools } from '../requests/response-tools.js';
import {
  itemsOf,
  logprobsOf,
  type ResponsesRequest,
  responsesRequest,
  structureOfText,
  thinkingOf,
} from '../requests/responses.js';
import { eventStream } from '../sse.js';
import { wholeJson } from '../whole.js';
import { endedResponse, headOf } from './response-object.js';
import { ResponseStream } from './response-stream.js';
import { noAnswer, noItem, storedAnswer } from './stored-responses.js';

/** POST /v1/responses */
export async function responses(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(responsesRequest, await readJson(request), call);
  const owner = ownerOf(request.headers);
  const served = await generatorFor(context, call, body);
  const input = inputOf(body, context, owner);
  const tools = responseTools(body);
  const { messages } = conversation(input, body, tools.notices, call);
  const options: ChatOptions = {
    ...samplingOptions(body),
    ...structureOfText(body),
    ...tools.options,
    ...thinkingOf(body),
    logprobs: logprobsOf(body),
    maxTokens: body.max_output_tokens,
    signal: call.signal,
    onNotice: call.notice,
  };
  const structuredBy = body.tools?.length ? 'tools' : 'text.format';
  const events = turn(served, answer(messages, options), context.metrics, structuredBy);
  const stores = body.store !== false && context.answers.isOn;
  const of = {
    head: headOf(body, served.name, stores),
    model: served.model,
    encodesThoughts: body.include?.includes('reasoning.encrypted_content') ?? false,
    callees: tools.callees,
  };
  const keep = (response: ReturnType<typeof endedResponse>): void => {
    if (stores && !call.signal.aborted) context.answers.add(owner, storedAnswer(response, input));
  };
  if (body.stream) {
    const stream = new ResponseStream(of, keep);
    return eventStream(stream.write(await begunOrTooLong(events, call)), call, stream.fail);
  }
  const whole = wholeAnswer(events).then(({ blocks, ...end }) => {
    const response = endedResponse(of, blocks, end);
    keep(response);
    return response;
  });
  return wholeJson(whole, call);
}

/** POST /v1/responses/input_tokens */
export async function countInputTokens(
  request: Request,
  context: ServerContext,
  call: Call,
): Promise<Response> {
  const body = parse(responsesRequest, await readJson(request), call);
  const { model } = await modelFor(context, call, 'generation', { model: body.model });
  const { options, notices } = responseTools(body);
  const { messages } = conversation(inputOf(body, context, ownerOf(request.headers)), body, notices, call);
  const tools = options.toolChoice === 'none' ? undefined : options.tools;
  const ids = await model.chatTokens(messages, { tools, ...thinkingOf(body) });
  return Response.json({ object: 'response.input_tokens', input_tokens: ids.length });
}

/**
 * The items that a request continues: those of a stored answer, and its own, references resolved.
 * @throws ApiError 400, 404
 */
function inputOf(body: ResponsesRequest, { answers }: ServerContext, owner: string): readonly Item[] {
  const own = itemsOf(body).map((item, index) => {
    if (item.type !== 'item_reference') return item;
    return answers.findItem(owner, item.id) ?? noItem(item.id, index);
  });
  needReadable(own);
  const id = body.previous_response_id;
  if (id === undefined) return own;
  const previous = answers.find(owner, id) ?? noAnswer(id);
  return [...previous.input, ...previous.output, ...own];
}

/** @throws ApiError 400 for a conversation without messages */
function conversation(
  items: readonly Item[],
  { instructions, truncation }: ResponsesRequest,
  notices: readonly string[],
  call: Call,
): Conversation {
  const found = conversationOf(items, instructions);
  if (found.messages.length === 0) throw badField('input', 'input has no message: give a text or messages');
  for (const notice of notices) call.notice(notice);
  if (found.leftOut.size > 0) call.notice(`left out of the input: ${listed(found.leftOut)}`);
  if (truncation === 'auto') call.notice('truncation auto is not supported: too long a prompt is an error');
  return found;
}

/** The events; a prompt that is too long is an event of the stream, as OpenAI's: Codex shortens its conversation then. */
async function begunOrTooLong(
  events: AsyncIterable<TurnEvent>,
  call: Call,
): Promise<AsyncIterable<TurnEvent>> {
  try {
    return await begun(events, call);
  } catch (error) {
    if (error instanceof QuernError && error.code === 'PROMPT_TOO_LONG') return failing(error);
    throw error;
  }
}

// biome-ignore lint/correctness/useYield: its only event is the error
async function* failing(error: unknown): AsyncGenerator<never> {
  throw error;
}
