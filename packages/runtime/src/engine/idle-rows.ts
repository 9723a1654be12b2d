import type { KvSequence } from '@quern/core';
import type { StepRows } from './step-rows.js';
import { sizeOf } from './step-times.js';

/** A sequence of one token that is not in the cache: its row reads the first slot and writes none (slot −1). */
const idleSequence: Pick<KvSequence, 'length' | 'blockTable' | 'slot'> = {
  length: 1,
  blockTable: [],
  slot: () => -1,
};

const idle: StepRows = { sequence: idleSequence as KvSequence, start: 0, tokens: [0] };

/** One row per sequence, and idle rows up to a size that recurs. */
export function withIdleRows(batch: StepRows[]): StepRows[] {
  const size = sizeOf(batch.length);
  while (batch.length < size) batch.push(idle);
  return batch;
}
