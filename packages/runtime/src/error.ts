import { QuernError } from '@quern/core';

/** Stable codes of errors of the runtime. Files, tokenizers, samplers and backends throw their own beside these. */
export type RuntimeErrorCode =
  | 'BACKEND_NOT_FOUND' // the backend asked for is not installed
  | 'BACKEND_FAILED' // it is installed, but it does not load
  | 'NO_BACKEND' // no backend is installed, or none of them loads
  | 'MODEL_NOT_FOUND' // no file, folder or installed package of this name
  | 'CONTEXT_TOO_LARGE' // the context asked for does not fit in memory
  | 'MODEL_TOO_LARGE' // the weights do not fit in memory
  | 'PROMPT_TOO_LONG' // the prompt leaves no room in the context
  | 'BAD_TOKEN' // a token id outside the vocabulary
  | 'EMPTY_PROMPT' // no token to begin with
  | 'BAD_OPTION' // an option out of its documented range
  | 'CONSUMED' // a generation can be read once
  | 'DISPOSED' // use after dispose
  | 'ABORTED' // an AbortSignal ended a call that has no partial result to give
  | 'NO_TOKENIZER' // text was given to, or asked of, a model that came without a vocabulary
  | 'NO_CLASSIFIER' // the model embeds texts, but ranks none
  | 'NO_CHAT_TEMPLATE'; // the model says nothing of how a chat is written

/** Thrown by loadModel, the planner, backend discovery and the methods of a model. */
export class RuntimeError extends QuernError<RuntimeErrorCode> {
  static override readonly className: string = 'RuntimeError';
}

/** Checks a whole number in [least, most]. Throws BAD_OPTION. */
export function needWhole(name: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  throw new RuntimeError('BAD_OPTION', `${name} is ${String(value)}; it must be a whole number ${range}`);
}

/** The message of whatever was thrown. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
