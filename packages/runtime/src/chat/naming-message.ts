import { ChatTemplateError } from './error.js';
import type { ChatMessage } from './message.js';

/** Errors of a template that one message may cause. */
const caused: readonly string[] = ['REFUSED', 'RENDER_FAILED'];

/**
 * Renders messages. An error that a shorter chat does not have names the message: the last one of the shortest chat that has it.
 * @param givenIndex the index that the caller knows a message by
 * @throws ChatTemplateError as `write`
 */
export function namingMessage<T>(
  messages: readonly ChatMessage[],
  write: (messages: readonly ChatMessage[]) => T,
  givenIndex: (index: number) => number,
): T {
  try {
    return write(messages);
  } catch (error) {
    if (!(error instanceof ChatTemplateError && caused.includes(error.code))) throw error;
    const fails = (count: number) => errorOf(() => write(messages.slice(0, count))) === error.message;
    const count = firstCount(messages.length, fails);
    if (count === undefined) throw error;
    const { role } = messages[count - 1]!;
    throw new ChatTemplateError(
      error.code,
      `${error.message} (message ${givenIndex(count - 1)}, of role "${role}")`,
      {
        cause: error,
      },
    );
  }
}

/** The least count from 1 on for which `fails`, by bisection; undefined where fewer than two messages tell nothing. */
function firstCount(most: number, fails: (count: number) => boolean): number | undefined {
  if (most < 2) return undefined;
  let [passing, failing] = [0, most];
  while (failing - passing > 1) {
    const middle = (passing + failing) >> 1;
    if (fails(middle)) failing = middle;
    else passing = middle;
  }
  return failing;
}

function errorOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ChatTemplateError) return error.message;
    throw error;
  }
}
