import type { GenerationResult, Model, TokenLogprobs } from '@quern/runtime';
import { begun } from '../../chat/begun.js';
import { isCut } from '../../chat/blocks.js';
import { argumentsOf } from '../../chat/call-arguments.js';
import { type Answer, collect } from '../../chat/collect.js';
import { chatLogprobs } from '../../chat/logprobs.js';
import type { TurnEvent } from '../../chat/turn.js';
import type { Call } from '../../context.js';
import { wholeJson } from '../../whole.js';
import { line, lineStream, nanoseconds, ollamaError } from './form.js';

type AnswerCall = Answer['calls'][number];

/** A part of an answer, or all of it. */
export interface AnswerPart {
  readonly text?: string;
  readonly thinking?: string;
  readonly calls?: readonly AnswerCall[];
  readonly logprobs?: readonly TokenLogprobs[] | undefined;
}

/** How a route writes its answers. */
export interface AnswerForm {
  /** As the client named it. */
  readonly name: string;
  readonly model: Model;
  readonly stream: boolean | undefined;
  readonly logprobs: boolean | undefined;
  /** Milliseconds that the request waited for the model. */
  readonly waitMs: number;
  show(part: AnswerPart): object;
}

/** A response of one answer, streamed unless the client says otherwise. `start`: when the request came. */
export async function respond(
  events: AsyncIterable<TurnEvent>,
  form: AnswerForm,
  call: Call,
  start: number,
): Promise<Response> {
  if (form.stream === false) return wholeJson(whole(events, form, start), call, ollamaError);
  return lineStream(lines(await begun(events, call), form, start), call);
}

/** The answer to a request without a prompt, which has Ollama load the model. */
export function loaded(form: AnswerForm, call: Call): Response {
  const value = { ...written(form, {}), done: true, done_reason: 'load' };
  if (form.stream === false) return Response.json(value);
  return lineStream(only(line(value)), call);
}

async function* only(text: string): AsyncGenerator<string> {
  yield text;
}

function written({ name, model, logprobs, show }: AnswerForm, part: AnswerPart) {
  return {
    model: name,
    created_at: new Date().toISOString(),
    ...show(part),
    ...(logprobs && part.logprobs && { logprobs: chatLogprobs(model, part.logprobs)?.content }),
  };
}

const ended = (result: GenerationResult, { waitMs }: AnswerForm, start: number) => ({
  done: true,
  done_reason: isCut(result) ? 'length' : 'stop',
  total_duration: nanoseconds(performance.now() - start),
  load_duration: nanoseconds(waitMs),
  prompt_eval_count: result.promptTokens,
  prompt_eval_duration: nanoseconds(result.prefillMs),
  eval_count: result.tokens.length,
  eval_duration: nanoseconds(result.decodeMs),
});

async function whole(events: AsyncIterable<TurnEvent>, form: AnswerForm, start: number) {
  const [answer] = await collect([events]);
  return { ...written(form, answer!), ...ended(answer!.result, form, start) };
}

async function* lines(
  events: AsyncIterable<TurnEvent>,
  form: AnswerForm,
  start: number,
): AsyncGenerator<string> {
  for await (const part of partsOf(events)) {
    if ('reason' in part) yield line({ ...written(form, {}), ...ended(part, form, start) });
    else yield line({ ...written(form, part), done: false });
  }
}

/** Parts of an answer as they come, a call when it is whole, and the result. */
async function* partsOf(events: AsyncIterable<TurnEvent>): AsyncGenerator<AnswerPart | GenerationResult> {
  let open: AnswerCall | undefined;
  for await (const event of events) {
    if (event.type === 'arguments') {
      open!.arguments += event.text;
      continue;
    }
    if (open) yield { calls: [open] };
    open = event.type === 'call' ? { id: event.id, name: event.name, arguments: '' } : undefined;
    if (event.type === 'end') yield event.result;
    else if (event.type === 'thinking') yield { thinking: event.text };
    else if (event.type === 'text') yield { text: event.text, logprobs: event.logprobs };
  }
}

/** Calls of an answer; the first one has the number `from`. */
export const shownCalls = (calls: readonly AnswerCall[], from = 0) =>
  calls.map(({ id, name, arguments: text }, at) => ({
    id,
    function: { index: from + at, name, arguments: argumentsOf(text) },
  }));
