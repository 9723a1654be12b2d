import { createContext, Script } from 'node:vm';
import { TokenizerError } from '../error.js';

const context: { work: () => void } = { work: () => {} };
const sandbox = createContext(context);
const script = new Script('work()');

/** Usual patterns take 0.1 s per megabyte. The limit is ten times that. */
const BASE_MS = 1000;
const CHARACTERS_PER_MS = 1000;

/**
 * Runs a regular expression from a file with a time limit proportional to the text's length. V8 stops a backtracking
 * match when the script's time is over.
 *
 *
 * @throws TokenizerError SLOW_PATTERN
 */
export function guarded(pattern: string, characters: number, work: () => void): void {
  const timeout = BASE_MS + Math.ceil(characters / CHARACTERS_PER_MS);
  context.work = work;
  try {
    script.runInContext(sandbox, { timeout });
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    throw new TokenizerError(
      'SLOW_PATTERN',
      `tokenizer.json: the pattern ${pattern.slice(0, 100)} took more than ${timeout} ms for ${characters} characters and was stopped; it cannot split this text`,
      { cause },
    );
  } finally {
    context.work = () => {};
  }
}

/** The error may come from another realm, where `instanceof Error` is false. */
const isTimeout = (cause: unknown): boolean =>
  typeof cause === 'object' &&
  cause !== null &&
  'code' in cause &&
  cause.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
