import type { ApiError } from '../errors.js';

/** Whether Anthropic's client sent the request: it names the version of its API. */
export const isAnthropic = ({ headers }: Request): boolean => headers.has('anthropic-version');

/** Types of errors in Anthropic's API, by status. */
const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** What clients look for, to shorten the conversation and ask again. */
const tooLong = 'prompt is too long: ';

/**
 * An error in Anthropic's form.
 * @param id of the request
 */
export const anthropicError = ({ status, message, code }: ApiError, id: string | null) => ({
  type: 'error',
  error: {
    type: types[status] ?? 'invalid_request_error',
    message: code === 'context_length_exceeded' ? tooLong + message : message,
  },
  request_id: id,
});
