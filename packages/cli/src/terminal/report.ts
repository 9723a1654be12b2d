import { exitStatus } from './exit-status.js';
import { Interrupted } from './interrupt.js';
import { isQuiet, isVerbose } from './verbosity.js';
import { isMidLine } from './write.js';

/**
 * Prints to stderr everything except the answer; starts a new line if stdout's line is unfinished on the same terminal.
 */
export function say(text: string): void {
  const fresh = process.stdout.isTTY && process.stderr.isTTY && isMidLine() ? '\n' : '';
  process.stderr.write(`${fresh}${text}\n`);
}

/** As `say`, unless --quiet is given: progress, surprises that are no errors, summaries. */
export function notice(text: string): void {
  if (!isQuiet()) say(text);
}

/** With --verbose alone: reasons. */
export function detail(text: string): void {
  if (isVerbose()) say(text);
}

/** A foreseen error: its message is written for users. */
export const isCoded = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string';

/** The stacks of an error and of its causes. */
function stacksOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\nCaused by: ${stacksOf(error.cause)}`;
}

/** Prints an error's message; the stacks for unforeseen errors, and with --verbose. */
export function sayError(error: unknown): void {
  if (isCoded(error)) say(`quern: ${error.message} (${error.code})`);
  else if (!isVerbose())
    say(`quern: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  detail(stacksOf(error));
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
