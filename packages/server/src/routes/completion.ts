import type { GenerateOptions, GenerationResult, Model, TokenLogprobs } from '@quern/runtime';
import { allBegun } from '../chat/begun.js';
import { collect } from '../chat/collect.js';
import { interleave } from '../chat/interleave.js';
import { nativeLogprobs } from '../chat/logprobs.js';
import { timingsOf } from '../chat/timings.js';
import { continuation, sharing, turn } from '../chat/turn.js';
import { type WatchedEvent, watched, watchedFields } from '../chat/watch.js';
import type { Call, ServerContext } from '../context.js';
import { generatorFor, type NamedModel } from '../models.js';
import {
  type NativeFields,
  nativeOptions,
  nativePrompts,
  nativeRequest,
  promptIds,
  settingsOf,
} from '../requests/native.js';
import { parse, readJson } from '../requests/parse.js';
import { event, eventStream } from '../sse.js';
import { wholeJson } from '../whole.js';

type Served = NamedModel<'generation'>;

/** POST /completion and /completions, in the form of llama.cpp's server */
export async function completion(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(nativeRequest, await readJson(request), call);
  const served = await generatorFor(context, call, body);
  const prompts = nativePrompts(body);
  const ids = await Promise.all(prompts.map((prompt) => promptIds(prompt, served.model)));
  const isList = Array.isArray(body.prompt) && prompts[0] !== body.prompt;
  return continueNatively(ids, body, served, context, call, isList);
}

/** @param isList the response is a list also for one prompt */
export async function continueNatively(
  prompts: readonly (readonly number[])[],
  fields: NativeFields,
  served: Served,
  { metrics, options: serverOptions }: ServerContext,
  call: Call,
  isList = false,
): Promise<Response> {
  const { signal, notice: onNotice } = call;
  const count = prompts.length * (fields.n_cmpl ?? fields.n ?? 1);
  const shared = sharing(count, serverOptions, call, prompts.length > 1 ? 'prompt' : 'n_cmpl');
  const options = { ...nativeOptions(fields, served.model), ...shared, signal, onNotice };
  const all = prompts.flatMap((prompt) => answersTo(prompt, fields, options));
  const turns = all.map(({ prompt, seed }) =>
    watched(fields, (more, watch) =>
      turn(served, continuation(prompt, { ...options, ...more, seed }), metrics, structuredBy(fields), watch),
    ),
  );
  const ends = all.map(({ prompt }, index) => endOf(index, prompt, fields, served));
  if (fields.stream)
    return eventStream(chunks(await allBegun(turns, call), fields, served.model, ends), call);
  const answers = whole(turns, fields, served.model, ends);
  return wholeJson(
    answers.then((list) => (list.length === 1 && !isList ? list[0] : list)),
    call,
  );
}

const structuredBy = ({ json_schema }: NativeFields) => (json_schema ? 'json_schema' : 'grammar');

/** With a seed, each answer to a prompt has the next one. */
const answersTo = (
  prompt: readonly number[],
  { n_cmpl, n }: NativeFields,
  { seed }: Pick<GenerateOptions, 'seed'>,
) =>
  Array.from({ length: n_cmpl ?? n ?? 1 }, (_, i) => ({
    prompt,
    seed: seed === undefined ? undefined : Number(seed) + i,
  }));

type End = (result: GenerationResult) => object;

/** What the end of an answer says. */
const endOf =
  (index: number, prompt: readonly number[], fields: NativeFields, { name, model }: Served): End =>
  (result) => ({
    index,
    model: name,
    tokens_predicted: result.tokens.length,
    tokens_evaluated: result.promptTokens,
    tokens_cached: result.cachedTokens,
    generation_settings: { ...settingsOf(fields), n_ctx: model.context },
    prompt: model.tokenizer ? model.detokenize(prompt, { special: true }) : prompt,
    has_new_line: result.text.includes('\n'),
    truncated: result.reason === 'context',
    stop_type: stopTypes[result.reason],
    stopping_word: result.stop ?? '',
    timings: timingsOf(result),
  });

const stopTypes = {
  eos: 'eos',
  calls: 'eos',
  stop: 'word',
  length: 'limit',
  context: 'limit',
  abort: 'limit',
} as const;

async function whole(
  turns: readonly AsyncIterable<WatchedEvent>[],
  fields: NativeFields,
  model: Model,
  ends: readonly End[],
): Promise<readonly object[]> {
  const answers = await collect(turns);
  return answers.map(({ text, logprobs, result }, index) =>
    chosen(fields, {
      content: text,
      tokens: fields.return_tokens ? result.tokens : [],
      stop: true,
      ...ends[index]!(result),
      ...probabilities(fields, model, logprobs),
    }),
  );
}

async function* chunks(
  turns: readonly AsyncIterable<WatchedEvent>[],
  fields: NativeFields,
  model: Model,
  ends: readonly End[],
): AsyncGenerator<string> {
  for await (const [index, each] of interleave(turns)) {
    if (each.type === 'end') {
      const last = { content: '', tokens: [], stop: true, ...ends[index]!(each.result) };
      yield event(chosen(fields, last));
    } else if (each.type === 'text') {
      const { text: content, tokens, logprobs = [] } = each;
      const more = { ...probabilities(fields, model, logprobs), ...watchedFields(each) };
      yield event({ index, content, tokens, stop: false, ...more });
    } else if (each.type === 'progress')
      yield event({ index, content: '', tokens: [], stop: false, ...watchedFields(each) });
  }
}

const probabilities = ({ n_probs }: NativeFields, model: Model, logprobs: readonly TokenLogprobs[]) =>
  n_probs ? { completion_probabilities: nativeLogprobs(model, logprobs) } : {};

/** `response_fields`: only these; 'a/b' is the field b of a, under its own name. */
function chosen({ response_fields: names }: NativeFields, answer: object): object {
  if (!names?.length) return answer;
  const found = names.flatMap((name) => {
    const path = name.split('/');
    const value = path.reduce<unknown>(
      (each, key) => (isObject(each) && Object.hasOwn(each, key) ? each[key] : undefined),
      answer,
    );
    return value === undefined ? [] : [[path.at(-1)!, value] as const];
  });
  return Object.fromEntries(found);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
