import type { KvSequence } from '@quern/core';

/** Makes room for `count` tokens while `compute` runs; takes it back where that fails. */
export async function appending<T>(
  sequence: KvSequence,
  count: number,
  compute: () => Promise<T>,
): Promise<T> {
  const before = sequence.length;
  sequence.append(count);
  try {
    return await compute();
  } catch (error) {
    sequence.truncate(before);
    throw error;
  }
}
