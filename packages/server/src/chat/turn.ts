import type { ChatMessage, ChatOptions, GenerationResult, Model, TokenLogprobs } from '@quern/runtime';
import { ApiError } from '../errors.js';
import type { Metrics } from '../metrics.js';
import type { NamedModel } from '../models.js';

/** What happens while an answer is generated. */
export type TurnEvent =
  | { readonly type: 'text'; readonly text: string; readonly logprobs: readonly TokenLogprobs[] | undefined }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }
  | { readonly type: 'end'; readonly result: GenerationResult };

/** A text that is generated: from a chat, or from a prompt. */
export type Begin = (model: Model) => ReturnType<Model['generate']>;

/** Generates, and notes the figures of the request. */
export async function* turn(
  { name, model }: NamedModel<'generation'>,
  begin: Begin,
  metrics: Metrics,
): AsyncGenerator<TurnEvent, void, undefined> {
  const figures = new Figures();
  const generation = begin(model);
  for await (const { text, tokens, logprobs } of generation) {
    figures.add(tokens.length);
    if (text !== '' || logprobs) yield { type: 'text', text, logprobs };
  }
  const result = await generation.result;
  if (result.reason === 'abort') throw new ApiError(499, 'the client closed the request', null, 'aborted');
  metrics.record({ model: name, ...figures.of(result) });
  yield { type: 'end', result };
}

/** Times of one request. */
class Figures {
  private readonly begin = performance.now();
  private last: number | undefined;
  private first: number | undefined;
  private readonly between: number[] = [];

  /** Tokens of one piece came together: each took its share of the time. */
  add(tokens: number): void {
    const now = performance.now();
    if (this.last === undefined) this.first = now - this.begin;
    else for (let i = 0; i < tokens; i++) this.between.push((now - this.last) / tokens / 1000);
    this.last = now;
  }

  of({ reason, prefillMs, decodeMs }: GenerationResult) {
    return {
      reason,
      firstToken: this.first === undefined ? undefined : this.first / 1000,
      betweenTokens: this.between,
      total: (performance.now() - this.begin) / 1000,
      prefill: prefillMs / 1000,
      decode: decodeMs / 1000,
    };
  }
}

/** The answer to a chat. */
export const answer =
  (messages: readonly ChatMessage[], options: ChatOptions): Begin =>
  (model) =>
    model.chat(messages, options);

/** The continuation of a prompt. */
export const continuation =
  (prompt: string | readonly number[], options: ChatOptions): Begin =>
  (model) =>
    model.generate(prompt, options);
