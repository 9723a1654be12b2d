import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of the runtime's errors. Files, tokenizers, samplers and backends have codes of their own. */
export type RuntimeErrorCode =
  | 'BACKEND_NOT_FOUND' // the backend asked for is not installed
  | 'BACKEND_FAILED' // the backend is installed but does not load or cannot be used; `cause` is its error
  | 'NO_BACKEND' // no backend is installed, or no installed backend loads
  | 'MODEL_NOT_FOUND' // no file, folder or installed package of this name
  | 'HUB_NOT_FOUND' // a name of the Hugging Face Hub, and @quern/hub is not installed
  | 'CONTEXT_TOO_LARGE' // the context asked for does not fit in memory
  | 'MODEL_TOO_LARGE' // the weights do not fit in memory
  | 'PROMPT_TOO_LONG' // the prompt leaves no room in the context
  | 'BUSY' // no room in the cache within maxWaitMs
  | 'BAD_TOKEN' // a token id outside the vocabulary
  | 'EMPTY_PROMPT' // the prompt has no tokens
  | 'BAD_OPTION' // an option of a wrong type, out of its documented range, or unknown
  | 'BAD_ARGUMENT' // an argument, other than options, of a wrong type
  | 'BAD_CALL' // a call of a tool that cannot be run: no such tool, or arguments that its parameters do not allow
  | 'BAD_GRAMMAR' // a schema, pattern or grammar that is wrong, or that cannot be enforced
  | 'BAD_LOGITS' // the model computed a NaN or infinite logit
  | 'BAD_EMBEDDING' // the model computed a NaN or infinite embedding
  | 'CONSUMED' // a second read of a generation
  | 'DISPOSED' // use after dispose
  | 'ABORTED' // an AbortSignal ended a call without a partial result
  | 'NO_TOKENIZER' // text was passed to, or requested from, a model without a vocabulary
  | 'NO_FIM' // the vocabulary has no tokens for filling in the middle of a text
  | 'NO_CLASSIFIER' // the model embeds texts but cannot rank them
  | 'ADAPTER_NOT_FOUND' // the model has no adapter of this name
  | 'NO_CHAT_TEMPLATE'; // the model has no chat template

/** Thrown by loadModel, the planner, backend discovery and the methods of a model. */
export class RuntimeError extends QuernError<RuntimeErrorCode> {
  static override readonly className: string = 'RuntimeError';
}

/** The error for a bad option, and for `options` that is no object. */
export const badOption: Refuse = (message) => new RuntimeError('BAD_OPTION', message);

/** The error for any other bad argument. */
export const badArgument: Refuse = (message) => new RuntimeError('BAD_ARGUMENT', message);

export const modelDisposed = () => new RuntimeError('DISPOSED', 'the model has been disposed');

/** Checks a whole number in [least, most]. Throws BAD_OPTION. */
export function needWhole(name: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  throw new RuntimeError('BAD_OPTION', `${name} is ${String(value)}; it must be a whole number ${range}`);
}

/** The message of any thrown value. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** The code of any thrown value, if it has one. */
export const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
