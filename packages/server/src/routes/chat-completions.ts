import { randomUUID } from 'node:crypto';
import type { ChatOptions, GenerationResult, TokenLogprobs } from '@quern/runtime';
import { interleave } from '../chat/interleave.js';
import { chatLogprobs } from '../chat/logprobs.js';
import { answer, type TurnEvent, turn } from '../chat/turn.js';
import { finishReason, usageOf } from '../chat/usage.js';
import type { Call, ServerContext } from '../context.js';
import { modelFor, type NamedModel } from '../models.js';
import { type ChatRequest, chatRequest, messagesOf, needFitting } from '../requests/chat.js';
import { samplingOptions } from '../requests/generate-options.js';
import { needMaxTokens } from '../requests/max-tokens.js';
import { parse, readJson } from '../requests/parse.js';
import { structureOf } from '../requests/response-format.js';
import { event, eventStream } from '../sse.js';

type Served = NamedModel<'generation'>;

/** POST /v1/chat/completions */
export async function chatCompletions(
  request: Request,
  context: ServerContext,
  call: Call,
): Promise<Response> {
  const body = parse(chatRequest, await readJson(request));
  needFitting(body);
  const served = modelFor(context.options.models, 'generation', body.model);
  const turns = turnsOf(body, served, context, call);
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: served.name };
  if (!body.stream) return Response.json(await whole(turns, served, head));
  return eventStream(chunks(turns, body, served, head), call);
}

interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** `n` answers; with a seed, each has the next one. */
function turnsOf(body: ChatRequest, served: Served, { metrics }: ServerContext, { signal }: Call) {
  const messages = messagesOf(body);
  const options = { ...optionsOf(body, served), signal };
  return Array.from({ length: body.n ?? 1 }, (_, i) => {
    const seed = body.seed === undefined ? undefined : body.seed + i;
    return turn(served, answer(messages, { ...options, seed }), metrics);
  });
}

function optionsOf(body: ChatRequest, { model }: Served): ChatOptions {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  needMaxTokens(maxTokens, model, body.max_tokens === undefined ? 'max_completion_tokens' : 'max_tokens');
  return {
    ...samplingOptions(body),
    ...structureOf(body.response_format),
    maxTokens,
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    extra: body.chat_template_kwargs,
  };
}

async function whole(turns: readonly AsyncIterable<TurnEvent>[], { model }: Served, head: Head) {
  const answers = turns.map(() => ({ text: '', logprobs: undefined as TokenLogprobs[] | undefined }));
  const results: GenerationResult[] = [];
  for await (const [index, each] of interleave(turns)) {
    const own = answers[index]!;
    if (each.type === 'end') results[index] = each.result;
    else {
      own.text += each.text;
      if (each.logprobs) own.logprobs = [...(own.logprobs ?? []), ...each.logprobs];
    }
  }
  const choices = answers.map(({ text, logprobs }, index) => ({
    index,
    message: { role: 'assistant', content: text, refusal: null },
    logprobs: chatLogprobs(model, logprobs) ?? null,
    finish_reason: finishReason(results[index]!),
  }));
  return { ...head, object: 'chat.completion', choices, usage: usageOf(results) };
}

async function* chunks(
  turns: readonly AsyncIterable<TurnEvent>[],
  { stream_options }: ChatRequest,
  { model }: Served,
  head: Head,
): AsyncGenerator<string> {
  const withUsage = stream_options?.include_usage === true;
  const chunk = (choices: readonly object[], usage?: object) =>
    event({ ...head, object: 'chat.completion.chunk', choices, ...(withUsage && { usage: usage ?? null }) });
  const results: GenerationResult[] = [];
  for (const index of turns.keys()) yield chunk([choice(index, { role: 'assistant', content: '' })]);
  for await (const [index, each] of interleave(turns)) {
    if (each.type === 'end') {
      results[index] = each.result;
      yield chunk([choice(index, {}, finishReason(each.result))]);
    } else
      yield chunk([
        { ...choice(index, { content: each.text }), logprobs: chatLogprobs(model, each.logprobs) ?? null },
      ]);
  }
  if (withUsage) yield chunk([], usageOf(results));
  yield event('[DONE]');
}

const choice = (index: number, delta: object, finish_reason: string | null = null) => ({
  index,
  delta,
  finish_reason,
});
