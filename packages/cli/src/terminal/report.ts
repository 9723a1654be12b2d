import { exitStatus } from './exit-status.js';
import { Interrupted } from './interrupt.js';
import { isMidLine } from './write.js';

/**
 * Prints to stderr everything except the answer; starts a new line if stdout's line is unfinished on the same terminal.
 */
export function say(text: string): void {
  const fresh = process.stdout.isTTY && process.stderr.isTTY && isMidLine() ? '\n' : '';
  process.stderr.write(`${fresh}${text}\n`);
}

/** A foreseen error: its message is written for users. */
export const isCoded = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string';

/** Prints an error's message; the stack only for unforeseen errors. */
export function sayError(error: unknown): void {
  if (isCoded(error)) say(`quern: ${error.message} (${error.code})`);
  else say(`quern: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
}

/** Ends a program that failed or was interrupted. */
export function report(error: unknown): void {
  if (error instanceof Interrupted) {
    process.exitCode = error.status;
    return;
  }
  sayError(error);
  process.exitCode = exitStatus.failed;
}
