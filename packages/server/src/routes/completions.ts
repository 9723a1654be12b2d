import { randomUUID } from 'node:crypto';
import type { GenerationResult, Model, TokenLogprobs } from '@quern/runtime';
import { allBegun } from '../chat/begun.js';
import { collect } from '../chat/collect.js';
import { interleave } from '../chat/interleave.js';
import { textLogprobs } from '../chat/logprobs.js';
import { timingsField } from '../chat/timings.js';
import { continuation, sharing, turn } from '../chat/turn.js';
import { finishReason, usageOf } from '../chat/usage.js';
import { type WatchedEvent, watched, watchedFields } from '../chat/watch.js';
import type { Call, ServerContext } from '../context.js';
import { generatorFor, type NamedModel } from '../models.js';
import { type CompletionRequest, completionRequest, needFitting, promptsOf } from '../requests/completion.js';
import { samplingOptions } from '../requests/generate-options.js';
import { parse, readJson } from '../requests/parse.js';
import { structureFrom } from '../requests/structure.js';
import { event, eventStream } from '../sse.js';
import { wholeJson } from '../whole.js';

type Served = NamedModel<'generation'>;

/** OpenAI's default of this route. */
export const usualTokens = 16;

interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** POST /v1/completions */
export async function completions(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(completionRequest, await readJson(request), call);
  needFitting(body);
  const served = await generatorFor(context, call, body);
  const turns = await turnsOf(body, served, context, call);
  const head = { id: `cmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: served.name };
  const before = body.echo ? promptsOf(body).flatMap((prompt) => repeat(textOf(prompt, served), body.n)) : [];
  if (!body.stream) return wholeJson(whole(turns, body, served, head, before), call);
  return eventStream(chunks(await allBegun(turns, call), body, served, head, before), call);
}

const repeat = <T>(value: T, times = 1): T[] => new Array<T>(times).fill(value);

const textOf = (prompt: string | readonly number[], { model }: Served): string =>
  typeof prompt === 'string' ? prompt : model.detokenize(prompt);

/** What a model continues; with a `suffix`: the prompt for the text between both. Rejects as `infillTokens` does. */
export const completionPrompt = async (
  prompt: string | readonly number[],
  { suffix }: CompletionRequest,
  model: Model,
): Promise<string | readonly number[]> =>
  suffix && typeof prompt === 'string' ? model.infillTokens(prompt, suffix) : prompt;

async function turnsOf(
  body: CompletionRequest,
  served: Served,
  { metrics, options: serverOptions }: ServerContext,
  call: Call,
) {
  const { signal, notice: onNotice } = call;
  const texts = promptsOf(body);
  const shared = sharing(
    texts.length * (body.n ?? 1),
    serverOptions,
    call,
    texts.length > 1 ? 'prompt' : 'n',
  );
  const maxTokens = body.max_tokens ?? usualTokens;
  const structure = structureFrom(body);
  const options = {
    ...samplingOptions(body),
    ...structure?.options,
    ...shared,
    maxTokens,
    logprobs: body.logprobs,
    signal,
    onNotice,
  };
  const prompts = await Promise.all(texts.map((prompt) => completionPrompt(prompt, body, served.model)));
  return prompts.flatMap((prompt) =>
    Array.from({ length: body.n ?? 1 }, (_, i) => {
      const seed = body.seed === undefined ? undefined : body.seed + i;
      return watched(body, (more, watch) =>
        turn(served, continuation(prompt, { ...options, ...more, seed }), metrics, structure?.field, watch),
      );
    }),
  );
}

async function whole(
  turns: readonly AsyncIterable<WatchedEvent>[],
  { logprobs: top, n }: CompletionRequest,
  { model }: Served,
  head: Head,
  before: readonly string[],
) {
  const answers = await collect(turns);
  const choices = answers.map(({ text, logprobs, result }, index) => ({
    index,
    text: (before[index] ?? '') + text,
    logprobs: top === undefined ? null : textLogprobs(model, logprobs, 0),
    finish_reason: finishReason(result),
  }));
  const results = answers.map(({ result }) => result);
  const usage = usageOf(results, n);
  return { ...head, object: 'text_completion', choices, usage, ...timingsField(results) };
}

async function* chunks(
  turns: readonly AsyncIterable<WatchedEvent>[],
  { stream_options, n }: CompletionRequest,
  { model }: Served,
  head: Head,
  before: readonly string[],
): AsyncGenerator<string> {
  const withUsage = stream_options?.include_usage === true;
  const chunk = (choices: readonly object[], usage?: object, more?: object) =>
    event({
      ...head,
      object: 'text_completion',
      choices,
      ...(withUsage && { usage: usage ?? null }),
      ...more,
    });
  const timings = () => (turns.length === 1 ? timingsField(results) : {});
  const results: GenerationResult[] = [];
  const lengths = turns.map(() => 0);
  const choice = (index: number, text: string, logprobs?: readonly TokenLogprobs[]) => {
    const at = lengths[index]!;
    lengths[index] = at + text.length;
    return { index, text, logprobs: textLogprobs(model, logprobs, at), finish_reason: null };
  };
  for (const [index, text] of before.entries()) yield chunk([choice(index, text)]);
  for await (const [index, each] of interleave(turns)) {
    if (each.type === 'end') {
      results[index] = each.result;
      const last = { index, text: '', logprobs: null, finish_reason: finishReason(each.result) };
      yield chunk([last], undefined, timings());
    } else if (each.type === 'text')
      yield chunk([choice(index, each.text, each.logprobs)], undefined, watchedFields(each));
    else if (each.type === 'progress') yield chunk([choice(index, '')], undefined, watchedFields(each));
  }
  if (withUsage) yield chunk([], usageOf(results, n), timings());
  yield event('[DONE]');
}
