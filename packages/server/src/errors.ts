import { QuernError } from '@quern/core';
import { lacksMemory, PoolError } from './pool/error.js';

/** Types of errors, as in OpenAI's API. */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'server_error';

/** An error that a client sees. */
export class ApiError extends Error {
  constructor(
    readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 413 | 415 | 429 | 499 | 500 | 503 | 504,
    message: string,
    /** The field of the request that is wrong. */
    readonly param: string | null = null,
    /** For programs. */
    readonly code: string | null = null,
  ) {
    super(message);
  }

  get type(): ErrorType {
    if (this.status === 401) return 'authentication_error';
    if (this.status === 403) return 'permission_error';
    if (this.status === 404 || this.status === 405) return 'not_found_error';
    if (this.status === 429) return 'rate_limit_error';
    return this.status >= 500 ? 'server_error' : 'invalid_request_error';
  }

  /** The body of the response. */
  get body() {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }

  /** Headers of the response: when to ask again, and that no more of the request is read. */
  get headers(): Record<string, string> {
    return {
      ...((this.status === 429 || this.status === 503) && { 'retry-after': '1' }),
      ...(unread.includes(this.code) && { connection: 'close' }),
    };
  }
}

const closing = 'shutting_down';

/** Codes of errors that come before the whole body. */
const unread: readonly (string | null)[] = [closing, 'body_timeout', 'too_many_bytes'];

export const shutsDown = (): ApiError => new ApiError(503, 'the server shuts down', null, closing);

/** A wrong field of a request; '': the whole body. */
export const badField = (param: string, message: string, code: string | null = 'invalid_value'): ApiError =>
  new ApiError(400, message, param === '' ? null : param, code);

/** The field that has the prompt or the texts: its name depends on the route. */
const theInput = Symbol('input');

/** Errors of the runtime that the request causes, with OpenAI's code and the field. */
const causedByRequest: Readonly<
  Record<string, readonly [param: string | typeof theInput | null, code: string]>
> = {
  PROMPT_TOO_LONG: [theInput, 'context_length_exceeded'],
  EMPTY_PROMPT: [theInput, 'invalid_value'],
  BAD_TOKEN: [theInput, 'invalid_value'],
  BAD_OPTION: [null, 'invalid_value'],
  BAD_ARGUMENT: [null, 'invalid_value'],
  BAD_STOP: ['stop', 'invalid_value'],
  NO_CHAT_TEMPLATE: ['model', 'no_chat_template'],
  NO_CLASSIFIER: ['model', 'no_classifier'],
  NO_FIM: ['model', 'no_fim'],
  NO_TOKENIZER: ['model', 'no_tokenizer'],
  REFUSED: [theInput, 'invalid_messages'],
  RENDER_FAILED: [theInput, 'invalid_messages'],
  UNSUPPORTED_CONTENT: [theInput, 'invalid_messages'],
  IGNORED: [theInput, 'invalid_messages'],
  LIMIT: [theInput, 'invalid_messages'],
  ADAPTER_NOT_FOUND: ['model', 'model_not_found'],
  BAD_AUDIO: ['file', 'invalid_audio'],
  UNKNOWN_FORMAT: ['file', 'invalid_audio'],
};

/** Replaces the paths of this machine that messages may have. */
export interface HidesPaths {
  hiddenIn(message: string): string;
}

const path = /(^|[^\w.~/-])(file:\/\/|[a-z]:[\\/]|\\\\|~?\/)[^\s/]/i;

/** A message that does not come from the request, unless it has an absolute path: the log has it whole. */
const withoutPath = (message: string): string =>
  path.test(message) ? 'the server failed; its log has the reason' : message;

/**
 * Any error as one that a client may see. Errors that nobody foresaw tell nothing of the inside, and no error a path of
 * this machine.
 * @param input the field with the prompt or the texts
 */
export function toApiError(error: unknown, paths: HidesPaths, input = 'messages'): ApiError {
  if (error instanceof ApiError) return error;
  if (!(error instanceof QuernError)) return new ApiError(500, 'internal error', null, 'internal_error');
  if (error.code === 'BUSY') return new ApiError(429, error.message, null, 'queue_full');
  if (error.code === 'ABORTED') return new ApiError(499, 'the client closed the request', null, 'aborted');
  const message = paths.hiddenIn(error.message);
  if (error instanceof PoolError && error.code === 'LOAD_FAILED')
    return new ApiError(
      lacksMemory(error.cause) ? 503 : 500,
      withoutPath(message),
      'model',
      'model_load_failed',
    );
  if (error.code === 'DISPOSED') return new ApiError(503, withoutPath(message), null, closing);
  const cause = causedByRequest[error.code];
  if (cause) return new ApiError(400, message, cause[0] === theInput ? input : cause[0], cause[1]);
  if (error.constructor.name === 'AudioError')
    return new ApiError(400, withoutPath(message), 'file', 'invalid_audio');
  return new ApiError(500, withoutPath(message), null, error.code.toLowerCase());
}
