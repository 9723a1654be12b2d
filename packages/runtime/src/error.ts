import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of errors of the runtime. Files, tokenizers, samplers and backends throw their own beside these. */
export type RuntimeErrorCode =
  | 'BACKEND_NOT_FOUND' // the backend asked for is not installed
  | 'BACKEND_FAILED' // it is installed, but it does not load
  | 'NO_BACKEND' // no backend is installed, or none of them loads
  | 'MODEL_NOT_FOUND' // no file, folder or installed package of this name
  | 'CONTEXT_TOO_LARGE' // the context asked for does not fit in memory
  | 'MODEL_TOO_LARGE' // the weights do not fit in memory
  | 'PROMPT_TOO_LONG' // the prompt leaves no room in the context
  | 'BUSY' // no room in the cache within the time that the call would wait
  | 'BAD_TOKEN' // a token id outside the vocabulary
  | 'EMPTY_PROMPT' // no token to begin with
  | 'BAD_OPTION' // an option of a wrong type, out of its documented range, or unknown
  | 'BAD_ARGUMENT' // an argument, other than options, of a wrong type
  | 'BAD_LOGITS' // the model computed a logit that is no number
  | 'BAD_EMBEDDING' // the model computed an embedding that is not of numbers
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

/** Refuses an option, and `options` that are no object. */
export const badOption: Refuse = (message) => new RuntimeError('BAD_OPTION', message);

/** Refuses any other argument. */
export const badArgument: Refuse = (message) => new RuntimeError('BAD_ARGUMENT', message);

/** Checks a whole number in [least, most]. Throws BAD_OPTION. */
export function needWhole(name: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  throw new RuntimeError('BAD_OPTION', `${name} is ${String(value)}; it must be a whole number ${range}`);
}

/** The message of whatever was thrown. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
