import { RuntimeError } from './error.js';

/** @param what for the message: 'loading' @throws RuntimeError ABORTED */
export function needNotAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted) throw new RuntimeError('ABORTED', `${what} was aborted`, { cause: signal.reason });
}
