import { BackendError, type BackendErrorCode } from '@quern/core';
import { FileError, type FileErrorCode, FormatError, type FormatErrorCode } from '../error.js';

/** Answer of a thread: the result of the job, or an error. */
export type Answer<Result> = { readonly result: Result } | { readonly failure: Failure };

/** An error in transit between threads, which lose class and code. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  /** Only for a FileError. */
  readonly path?: string;
}

export function failureOf(error: unknown): Failure {
  const { name, message, code, path } = error as Error & Partial<Failure>;
  return { name, message, ...(code !== undefined && { code }), ...(path !== undefined && { path }) };
}

/** The original error, if it is a class that jobs throw on purpose. */
export function errorOf({ name, message, code, path }: Failure): Error | undefined {
  if (name === 'FileError' && path !== undefined)
    return new FileError(code as FileErrorCode, path, message.slice(path.length + 2));
  if (name === 'FormatError') return new FormatError(code as FormatErrorCode, message);
  if (name === 'BackendError') return new BackendError(code as BackendErrorCode, message);
  return undefined;
}
