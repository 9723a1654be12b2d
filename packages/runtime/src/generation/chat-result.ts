import type { AnswerCall } from '../chat/answer/index.js';
import type { ChatMessage } from '../chat/index.js';
import type { GenerationPiece, GenerationResult } from './generate-options.js';
import type { CallOutcome } from './run-tools.js';

/** A part of a call of a tool. */
export interface CallPiece {
  /** 0, 1, 2 … among all calls of the generation. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** What this piece adds to the arguments: the additions of one index, joined, are JSON text. */
  readonly arguments: string;
}

/** A piece of a chat's answer. Any of its parts may be empty: tokens of marks have no text. */
export interface ChatPiece extends GenerationPiece {
  /** Text of the answer, without thoughts and calls. */
  readonly text: string;
  /** What the model thinks before it answers. */
  readonly thinking: string;
  readonly calls: readonly CallPiece[];
  /** What became of calls, in a piece of their own, when all tools of an answer have run. */
  readonly results: readonly CallResult[];
}

/** What became of a call. */
export interface CallResult extends CallOutcome {
  /** That of the call. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
}

/** A whole call, and what became of it; a call that did not run has neither `result` nor `error`. */
export interface ChatCall extends AnswerCall, Pick<CallOutcome, 'result' | 'error'> {}

/**
 * The result of an ended chat. Where tools ran, it covers all answers: their texts with an empty line between them, and
 * sums. `reason` and `value` are of the last one.
 */
export interface ChatResult<Value = unknown, Text extends string = string>
  extends GenerationResult<Value, Text> {
  readonly thinking: string;
  /** `arguments`: JSON text of an object, unless the answer was cut or the model wrote no JSON. */
  readonly calls: readonly ChatCall[];
  /** What the chat is to go on with: the answer, calls and results of tools, in the form of the OpenAI API. */
  readonly messages: readonly ChatMessage[];
}

/** The result of two generations in a row. */
export function joinResults<Value, Text extends string>(
  a: GenerationResult<Value, Text>,
  b: GenerationResult<Value, Text>,
): GenerationResult<Value, Text> {
  const rate = (speed: 'prefillTokensPerSecond' | 'decodeTokensPerSecond', ms: 'prefillMs' | 'decodeMs') =>
    a[ms] + b[ms] > 0 ? (a[speed] * a[ms] + b[speed] * b[ms]) / (a[ms] + b[ms]) : 0;
  return {
    ...b,
    tokens: [...a.tokens, ...b.tokens],
    ...(b.logprobs && { logprobs: [...(a.logprobs ?? []), ...b.logprobs] }),
    promptTokens: a.promptTokens + b.promptTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    draftedTokens: a.draftedTokens + b.draftedTokens,
    acceptedTokens: a.acceptedTokens + b.acceptedTokens,
    prefillMs: a.prefillMs + b.prefillMs,
    decodeMs: a.decodeMs + b.decodeMs,
    prefillTokensPerSecond: rate('prefillTokensPerSecond', 'prefillMs'),
    decodeTokensPerSecond: rate('decodeTokensPerSecond', 'decodeMs'),
  };
}
