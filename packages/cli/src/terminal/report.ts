import { Interrupted } from './interrupt.js';
import { isMidLine } from './write.js';

/** Everything that is not the answer goes to stderr, on a line of its own where both are one terminal. */
export function say(text: string): void {
  const fresh = process.stdout.isTTY && process.stderr.isTTY && isMidLine() ? '\n' : '';
  process.stderr.write(`${fresh}${text}\n`);
}

/** An error that somebody foresaw: its message is written for people. */
export const isCoded = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string';

/** An error as one clear message; the stack only for what nobody foresaw. */
export function sayError(error: unknown): void {
  if (isCoded(error)) say(`quern: ${error.message} (${error.code})`);
  else say(`quern: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
}

/** The end of a program that failed, or that was interrupted. */
export function report(error: unknown): void {
  if (error instanceof Interrupted) {
    process.exitCode = error.status;
    return;
  }
  sayError(error);
  process.exitCode = 1;
}
