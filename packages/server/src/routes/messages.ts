import { randomUUID } from 'node:crypto';
import type { ChatOptions, Model } from '@quern/runtime';
import { afterPrompt, promptBegin } from '../chat/after-prompt.js';
import { begun } from '../chat/begun.js';
import { blocksOf, wholeAnswer } from '../chat/blocks.js';
import { answer, turn } from '../chat/turn.js';
import type { Call, ServerContext } from '../context.js';
import type { ApiError } from '../errors.js';
import { generatorFor, modelFor } from '../models.js';
import {
  type CountRequest,
  countRequest,
  type MessagesRequest,
  messagesRequest,
  needFitting,
  prefillOf,
  structureOf,
  thinkingOf,
} from '../requests/anthropic.js';
import { chatMessages } from '../requests/anthropic-messages.js';
import { toolsOf } from '../requests/anthropic-tools.js';
import { parse, readJson } from '../requests/parse.js';
import { event, eventStream, ping } from '../sse.js';
import { wholeJson } from '../whole.js';
import { anthropicError } from './anthropic-error.js';
import { messageEvents, messageOf } from './message-events.js';

/** POST /v1/messages, in Anthropic's form */
export async function messages(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(messagesRequest, await readJson(request), call);
  const served = await generatorFor(context, call, body);
  const { chat, options } = promptOf(body, served.model, call);
  const { counts, begin: onPrompt } = promptBegin();
  const sampled = { ...samplingOf(body), ...options, signal: call.signal, onNotice: call.notice, onPrompt };
  const events = turn(served, answer(chat, sampled), context.metrics, structuredBy(body));
  const managed = body.context_management != null;
  const head = { id: `msg_${randomUUID()}`, model: served.name, managed };
  const toError = (error: ApiError) => anthropicError(error, call.id);
  if (!body.stream) {
    const whole = wholeAnswer(events).then(({ blocks, ...end }) => messageOf(head, blocks, end));
    return wholeJson(whole, call, toError);
  }
  const stream = await begun(afterPrompt(counts, blocksOf(events)), call);
  return eventStream(messageEvents(head, stream), call, (error) => event(toError(error), 'error'), ping);
}

/** POST /v1/messages/count_tokens */
export async function countTokens(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(countRequest, await readJson(request), call);
  const { model } = await modelFor(context, call, 'generation', body);
  const { chat, options: prompt } = promptOf(body, model, call);
  const { extra, answerStart, tools, toolChoice } = prompt;
  const shown = toolChoice === 'none' ? undefined : tools;
  const ids = await model.chatTokens(chat, { extra, answerStart, tools: shown });
  return Response.json({ input_tokens: ids.length, context_management: null });
}

/** The messages, and what else of a request makes its prompt or says what the answer must be. */
function promptOf(body: CountRequest, model: Model, call: Call) {
  const tools = toolsOf(body, call);
  needFitting(body, tools);
  const answerStart = prefillOf(body);
  const messages = answerStart === undefined ? body.messages : body.messages.slice(0, -1);
  const options: ChatOptions = {
    ...tools,
    ...structureOf(body),
    ...thinkingOf(body, model, call.notice),
    answerStart,
  };
  return { chat: chatMessages({ ...body, messages }, call.notice), options };
}

/** The field that says what the text must be. */
const structuredBy = ({ output_config, output_format }: MessagesRequest): string => {
  if (output_config?.format) return 'output_config.format';
  return output_format ? 'output_format' : 'tools';
};

const samplingOf = (body: MessagesRequest): ChatOptions => ({
  maxTokens: body.max_tokens,
  temperature: body.temperature ?? 1,
  topK: body.top_k ?? 0,
  topP: body.top_p ?? 1,
  minP: 0,
  stop: body.stop_sequences,
  keyOrder: body.key_order,
});
