import { QuernError } from '@quern/core';

/** Stable codes of errors about how the kit was called; what a driver does wrong is in the report. */
export type ConformanceErrorCode =
  | 'BAD_OPTION' // an unknown option, or an unknown suite
  | 'NO_CASES' // the options leave nothing to run
  | 'BAD_MODULE'; // a module from which no driver can be made

/** Thrown by the kit itself. */
export class ConformanceError extends QuernError<ConformanceErrorCode> {
  override readonly name = 'ConformanceError';
}
