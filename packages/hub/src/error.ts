import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of the hub's errors. */
export type HubErrorCode =
  | 'BAD_NAME' // the text is no name of a model, or a name that the Hub refuses
  | 'UNKNOWN_NAME' // a short name that is not in the table
  | 'BAD_OPTION' // an option or a variable of the environment of a wrong type or value
  | 'NOT_FOUND' // no such repository, revision or file
  | 'UNAUTHORIZED' // status 401: the repository is private or does not exist, or the token is wrong
  | 'GATED' // the repository's terms must be accepted first
  | 'FORBIDDEN' // status 403 for another reason
  | 'RATE_LIMITED' // status 429 at every attempt
  | 'SERVER_FAILED' // a status of 500 or more at every attempt
  | 'UNREACHABLE' // no connection, or connections that break at every attempt
  | 'BAD_ANSWER' // the server's answer is not that of a Hub
  | 'NO_MODEL' // the repository has no file that Quern can load
  | 'NO_QUANTISATION' // the repository has no file with this quantisation
  | 'AMBIGUOUS' // several models have this quantisation
  | 'INCOMPLETE' // the repository lacks a file of a split model
  | 'WRONG_BYTES' // size or hash of the bytes are not those of the listing
  | 'NO_SPACE' // the disk of the cache is full
  | 'CACHE_FAILED' // the cache cannot be read or written
  | 'NOT_CACHED' // offline, and the model is not in the cache
  | 'IN_USE' // another process downloads into the repository that would be removed
  | 'ABORTED'; // an AbortSignal ended the call

/** Thrown by every function of this package. Messages never contain a token. */
export class HubError extends QuernError<HubErrorCode> {
  static override readonly className: string = 'HubError';
}

/** The error for a bad option. */
export const badOption: Refuse = (message) => new HubError('BAD_OPTION', message);

/** @throws HubError ABORTED */
export function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal);
}

export const aborted = (signal: AbortSignal): HubError =>
  new HubError('ABORTED', 'the download was aborted; the next pull resumes it', { cause: signal.reason });

/** The message of any thrown value. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** The code of any thrown value, if it has one. */
export const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
