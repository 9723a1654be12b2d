import type { KvSequence } from '@quern/core';

/** Makes room for `count` tokens, then runs `compute` with the position of the first. A failure takes the room back. */
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
    sequence.truncate(Math.min(start, sequence.length)); // `length` < `start` where earlier tokens have failed too
    throw error;
  }
}
