import type { KvSequence } from '@quern/core';

/** Makes room for `count` tokens while `compute` runs, which gets their first position; takes the room back on failure. */
export async function appending<T>(
  sequence: KvSequence,
  count: number,
  compute: (start: number) => Promise<T>,
): Promise<T> {
  const start = sequence.length;
  sequence.append(count);
  try {
    return await compute(start);
  } catch (error) {
    sequence.truncate(Math.min(start, sequence.length)); // shorter where tokens before these have failed too
    throw error;
  }
}
