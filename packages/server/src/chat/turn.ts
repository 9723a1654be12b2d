import {
  type ChatMessage,
  type ChatOptions,
  type ChatPiece,
  type GenerationPiece,
  type GenerationResult,
  QuernError,
  type TokenLogprobs,
} from '@quern/runtime';
import type { Call } from '../context.js';
import { ApiError, badField } from '../errors.js';
import type { Metrics } from '../metrics.js';
import type { NamedModel } from '../models.js';
import { defaults, type HandlerOptions } from '../options.js';

/** What happens while an answer is generated. */
export type TurnEvent =
  | {
      readonly type: 'text';
      readonly text: string;
      readonly tokens: readonly number[];
      readonly logprobs: readonly TokenLogprobs[] | undefined;
      /** The log-probabilities are of thoughts. */
      readonly isThinking?: boolean;
    }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }
  | {
      readonly type: 'end';
      readonly result: GenerationResult;
      /** Tokens of thoughts. */
      readonly thinkingTokens: number;
    };

/** A piece of a generation; an answer to a chat has thoughts and calls too. */
type Piece = GenerationPiece & Partial<Pick<ChatPiece, 'thinking' | 'calls'>>;

/** Begins a text: from a chat, or from a prompt. */
export type Begin = (
  served: NamedModel<'generation'>,
) => AsyncIterable<Piece> & { readonly result: Promise<GenerationResult> };

/** Counts tokens that were generated. */
export interface TokenCount {
  add(tokens: number): void;
}

/**
 * Generates, and notes the figures of the request.
 * @param structuredBy the field of the request that says what the text must be
 */
export async function* turn(
  served: NamedModel<'generation'>,
  begin: Begin,
  metrics: Metrics,
  structuredBy = 'response_format',
  watch?: TokenCount,
): AsyncGenerator<TurnEvent, void, undefined> {
  const figures = new Figures();
  const thoughts = new ThinkingTokens();
  const generation = begin(served);
  const calls = new Set<number>();
  const adapter = served.adapters === undefined ? undefined : metrics.adapters.begin(served.adapters);
  try {
    for await (const piece of generation) {
      adapter?.starts();
      figures.add(piece.tokens.length);
      watch?.add(piece.tokens.length);
      thoughts.add(piece);
      yield* eventsOf(piece, calls);
    }
  } catch (error) {
    const isGrammar = error instanceof QuernError && error.code === 'BAD_GRAMMAR';
    throw isGrammar ? badField(structuredBy, error.message, 'unsupported_schema') : error;
  } finally {
    adapter?.ends();
  }
  const result = await generation.result;
  if (result.reason === 'abort') throw new ApiError(499, 'the client closed the request', null, 'aborted');
  metrics.record({ model: served.ownName, ...figures.of(result) });
  yield { type: 'end', result, thinkingTokens: thoughts.count };
}

/** @param begun the calls so far */
function* eventsOf(
  { text, tokens, logprobs, thinking = '', calls = [] }: Piece,
  begun: Set<number>,
): Generator<TurnEvent> {
  if (thinking !== '') yield { type: 'thinking', text: thinking };
  if (text !== '' || logprobs)
    yield {
      type: 'text',
      text,
      tokens,
      logprobs,
      ...(text === '' && thinking !== '' && { isThinking: true }),
    };
  for (const { index, id, name, arguments: more } of calls) {
    if (!begun.has(index)) yield { type: 'call', index, id, name };
    begun.add(index);
    if (more !== '') yield { type: 'arguments', index, text: more };
  }
}

/** Counts the tokens of thoughts. A token without any text, such as a mark, belongs to what follows. */
class ThinkingTokens {
  private counted = 0;
  private waiting = 0;
  private isThinking = false;

  add({ tokens, text, thinking = '', calls = [] }: Piece): void {
    this.waiting += tokens.length;
    if (thinking !== '') {
      this.counted += this.waiting;
      this.isThinking = true;
    } else if (text !== '' || calls.length > 0) this.isThinking = false;
    else return;
    this.waiting = 0;
  }

  get count(): number {
    return this.counted + (this.isThinking ? this.waiting : 0);
  }
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

  of({ reason, prefillMs, decodeMs, draftedTokens, acceptedTokens }: GenerationResult) {
    return {
      reason,
      draftedTokens,
      acceptedTokens,
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
  ({ model, adapters, speculate }) =>
    model.chat(messages, { ...options, adapters, speculate });

/** The continuation of a prompt. */
export const continuation =
  (prompt: string | readonly number[], options: ChatOptions): Begin =>
  ({ model, adapters, speculate }) =>
    model.generate(prompt, { ...options, adapters, speculate });

/**
 * Options of several texts of one request: they share the model as one.
 * @throws ApiError 400 for more texts than a request may have
 */
export function sharing(
  texts: number,
  { textsPerRequest = defaults.textsPerRequest }: Pick<HandlerOptions, 'textsPerRequest'>,
  { id }: Call,
  param: string,
): Pick<ChatOptions, 'group'> {
  if (texts > textsPerRequest)
    throw badField(
      param,
      `the request asks for ${texts} texts (prompts × n); at most ${textsPerRequest} are made`,
    );
  return texts > 1 ? { group: id } : {};
}
