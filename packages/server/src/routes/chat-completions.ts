import { randomUUID } from 'node:crypto';
import type { ChatOptions, GenerationResult } from '@quern/runtime';
import { allBegun } from '../chat/begun.js';
import { type Answer, collect } from '../chat/collect.js';
import { interleave } from '../chat/interleave.js';
import { chatLogprobs } from '../chat/logprobs.js';
import { timingsField } from '../chat/timings.js';
import { answer, sharing, turn } from '../chat/turn.js';
import { finishReason, usageOf } from '../chat/usage.js';
import { type WatchedEvent, watched, watchedFields } from '../chat/watch.js';
import type { Call, ServerContext } from '../context.js';
import { generatorFor, type NamedModel } from '../models.js';
import {
  answerStartOf,
  type ChatRequest,
  chatRequest,
  messagesOf,
  needFitting,
  thinkingOf,
} from '../requests/chat.js';
import { samplingOptions } from '../requests/generate-options.js';
import { parse, readJson } from '../requests/parse.js';
import { structureFrom } from '../requests/structure.js';
import { toolOptions } from '../requests/tools.js';
import { event, eventStream } from '../sse.js';
import { wholeJson } from '../whole.js';

type Served = NamedModel<'generation'>;

/** POST /v1/chat/completions */
export async function chatCompletions(
  request: Request,
  context: ServerContext,
  call: Call,
): Promise<Response> {
  const body = parse(chatRequest, await readJson(request), call);
  needFitting(body);
  const served = await generatorFor(context, call, body);
  const turns = turnsOf(body, served, context, call);
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: served.name };
  if (!body.stream) return wholeJson(whole(turns, served, head, body.logprobs === true), call);
  return eventStream(chunks(await allBegun(turns, call), body, served, head), call);
}

interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** `n` answers; with a seed, each has the next one. */
function turnsOf(
  body: ChatRequest,
  served: Served,
  { metrics, options: serverOptions }: ServerContext,
  call: Call,
) {
  const { signal, notice: onNotice } = call;
  const shared = sharing(body.n ?? 1, serverOptions, call, 'n');
  const messages = messagesOf(body, onNotice);
  const structure = structureFrom(body);
  const options = { ...optionsOf(body), ...structure?.options, ...shared, signal, onNotice };
  const structuredBy = body.tools?.length ? 'tools' : structure?.field;
  return Array.from({ length: body.n ?? 1 }, (_, i) => {
    const seed = body.seed === undefined ? undefined : body.seed + i;
    return watched(body, (more, watch) =>
      turn(served, answer(messages, { ...options, ...more, seed }), metrics, structuredBy, watch),
    );
  });
}

function optionsOf(body: ChatRequest): ChatOptions {
  return {
    ...samplingOptions(body),
    ...toolOptions(body),
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    extra: { ...thinkingOf(body), ...body.chat_template_kwargs },
    answerStart: answerStartOf(body),
  };
}

async function whole(
  turns: readonly AsyncIterable<WatchedEvent>[],
  { model }: Served,
  head: Head,
  wanted: boolean,
) {
  const answers = await collect(turns);
  const choices = answers.map((each, index) => ({
    index,
    message: messageOf(each),
    logprobs: wanted ? chatLogprobs(model, each.logprobs) : null,
    finish_reason: finishReason(each.result, each.calls.length > 0),
  }));
  const thinkingTokens = answers.reduce((sum, each) => sum + each.thinkingTokens, 0);
  const results = answers.map(({ result }) => result);
  const usage = usageOf(results, results.length, thinkingTokens);
  return { ...head, object: 'chat.completion', choices, usage, ...timingsField(results) };
}

const messageOf = ({ text, thinking, calls }: Answer) => ({
  role: 'assistant',
  content: text === '' && calls.length > 0 ? null : text,
  refusal: null,
  ...(thinking !== '' && thoughts(thinking)),
  ...(calls.length > 0 && {
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  }),
});

/** Under both names that clients read. */
const thoughts = (text: string) => ({ reasoning_content: text, reasoning: text });

async function* chunks(
  turns: readonly AsyncIterable<WatchedEvent>[],
  { stream_options, logprobs }: ChatRequest,
  { model }: Served,
  head: Head,
): AsyncGenerator<string> {
  const withUsage = stream_options?.include_usage === true;
  const chunk = (choices: readonly object[], usage?: object, more?: object) => {
    const fields = { ...(withUsage && { usage: usage ?? null }), ...more };
    return event({ ...head, object: 'chat.completion.chunk', choices, ...fields });
  };
  const choice = (index: number, delta: object, more: object = {}, beside?: object) =>
    chunk([{ index, delta, finish_reason: null, ...more }], undefined, beside);
  const timings = () => (turns.length === 1 ? timingsField(results) : {});
  const results: GenerationResult[] = [];
  const calls = new Set<number>();
  let thinkingTokens = 0;
  const logprobsField = (each: Extract<WatchedEvent, { type: 'text' }>) =>
    logprobs ? { logprobs: chatLogprobs(model, each.logprobs) } : {};
  for (const index of turns.keys()) yield choice(index, { role: 'assistant', content: '' });
  for await (const [index, each] of interleave(turns)) {
    if (each.type === 'call') calls.add(index);
    if (each.type === 'end') {
      results[index] = each.result;
      thinkingTokens += each.thinkingTokens;
      const finish_reason = finishReason(each.result, calls.has(index));
      yield chunk([{ index, delta: {}, finish_reason }], undefined, timings());
    } else
      yield choice(
        index,
        deltaOf(each),
        each.type === 'text' ? logprobsField(each) : {},
        watchedFields(each),
      );
  }
  if (withUsage) yield chunk([], usageOf(results, results.length, thinkingTokens), timings());
  yield event('[DONE]');
}

function deltaOf(each: Exclude<WatchedEvent, { type: 'end' }>) {
  if (each.type === 'progress') return {};
  if (each.type === 'text') return { content: each.text };
  if (each.type === 'thinking') return thoughts(each.text);
  const { index } = each;
  if (each.type === 'arguments') return { tool_calls: [{ index, function: { arguments: each.text } }] };
  const { id, name } = each;
  return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
}
