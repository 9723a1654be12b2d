import { BackendError, type BackendErrorCode } from '@quern/core';
import { FileError, type FileErrorCode, FormatError, type FormatErrorCode } from '../error.js';

/** What a thread answers: what the job gave, or what went wrong. */
export type Answer<Result> = { readonly result: Result } | { readonly failure: Failure };

/** An error on its way between threads, where classes and codes are lost. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  /** Of a FileError. */
  readonly path?: string;
}

export function failureOf(error: unknown): Failure {
  const { name, message, code, path } = error as Error & Partial<Failure>;
  return { name, message, ...(code !== undefined && { code }), ...(path !== undefined && { path }) };
}

/** The error that it was, where it is one that jobs throw knowingly. */
export function errorOf({ name, message, code, path }: Failure): Error | undefined {
  if (name === 'FileError' && path !== undefined)
    return new FileError(code as FileErrorCode, path, message.slice(path.length + 2));
  if (name === 'FormatError') return new FormatError(code as FormatErrorCode, message);
  if (name === 'BackendError') return new BackendError(code as BackendErrorCode, message);
  return undefined;
}
