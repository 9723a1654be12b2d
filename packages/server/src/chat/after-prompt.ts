import type { PromptCounts } from '@quern/runtime';

/** The computing of a prompt begins. */
export interface PromptEvent extends PromptCounts {
  readonly type: 'prompt';
}

/** Resolves when the computing of a prompt begins. */
export interface PromptBegin {
  readonly counts: Promise<PromptCounts>;
  /** For `onPrompt` of the generation. */
  readonly begin: (counts: PromptCounts) => void;
}

export function promptBegin(): PromptBegin {
  let begin!: (counts: PromptCounts) => void;
  const counts = new Promise<PromptCounts>((resolve) => {
    begin = resolve;
  });
  return { counts, begin };
}

/**
 * The counts of the prompt, as soon as they are known, and then the events. What fails before rejects.
 * @param events are read at once: only then does the prompt begin
 */
export async function* afterPrompt<T>(
  counts: Promise<PromptCounts>,
  events: AsyncIterable<T>,
): AsyncGenerator<PromptEvent | T, void, undefined> {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  first.catch(() => {}); // whoever reads on gets the error
  try {
    yield { type: 'prompt', ...(await Promise.race([counts, first.then(() => counts)])) };
    for (let next = await first; !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}
