import { QuernError } from '@quern/core';

/** Stable codes of errors in the use of the kit. Faults of a driver are in the report. */
export type ConformanceErrorCode =
  | 'BAD_OPTION' // an unknown option, or an unknown suite
  | 'NO_CASES' // the options leave nothing to run
  | 'BAD_MODULE'; // a module that makes no driver

/** Thrown by the kit itself. */
export class ConformanceError extends QuernError<ConformanceErrorCode> {
  override readonly name = 'ConformanceError';
}
