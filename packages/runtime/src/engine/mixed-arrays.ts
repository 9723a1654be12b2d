import type { BatchArrays, RepeatedStep } from '@quern/core';
import { writeRowAdapters } from './adapter-arrays.js';
import type { ForwardArrays } from './forward-arrays.js';
import type { ForwardStepsOptions } from './forward-options.js';
import { writeSampling } from './sampling/record.js';
import type { StepRows } from './step-rows.js';

/** Inputs of a step for any T rows of fewer than S sequences, R rows with outputs. The last sequence has the idle rows. */
export function mixedArrays(
  { cache }: ForwardStepsOptions,
  S: number,
  T: number,
  R: number,
): BatchArrays & { readonly ids: Int32Array } {
  return {
    ids: new Int32Array(T),
    positions: new Int32Array(T),
    cuSeqlens: new Int32Array(S + 1).fill(T, 1),
    kvLengths: new Int32Array(S),
    slots: new Int32Array(T).fill(-1),
    blockTable: new Int32Array(S * cache.maxBlocks),
    lastRows: new Int32Array(R),
  };
}

/**
 * Writes a batch into a step of `mixedArrays`. Sequences after the batch have no rows. Idle rows belong to the last
 * sequence: they read the first slots of the cache and write none (slot −1).
 */
export function writeMixed(step: RepeatedStep<ForwardArrays>, batch: readonly StepRows[]): void {
  const { arrays } = step;
  const T = arrays.ids.length;
  let t = 0;
  let r = 0;
  for (let s = 0; s < batch.length; s++) {
    const { outputs = 1 } = batch[s]!;
    t = writeSequence(step, batch[s]!, s, t);
    if (arrays.lastRows.length > 0) for (let row = t - outputs; row < t; row++) arrays.lastRows[r++] = row;
  }
  const S = arrays.kvLengths.length;
  arrays.cuSeqlens.fill(t, batch.length + 1, S);
  arrays.kvLengths.fill(0, batch.length, S - 1);
  arrays.kvLengths[S - 1] = T - t;
  for (let row = t; row < T; row++) {
    arrays.ids[row] = 0;
    arrays.positions[row] = row - t;
    arrays.slots[row] = -1;
  }
  arrays.lastRows.fill(T - 1, r);
  step.write('ids', 'positions', 'cuSeqlens', 'kvLengths', 'slots', 'lastRows');
  if (arrays.settings.length > 0) writeSampling(step, batch, 1);
  if (arrays.places.length > 0) writeRowAdapters(step, batch);
}

/** Writes sequence `s`, whose first row is `t`. Returns the row after its last one. */
function writeSequence(step: RepeatedStep<ForwardArrays>, rows: StepRows, s: number, t: number): number {
  const { arrays } = step;
  const { sequence, start, tokens } = rows;
  for (let i = 0; i < tokens.length; i++) {
    arrays.ids[t + i] = tokens[i]!;
    arrays.positions[t + i] = start + i;
    arrays.slots[t + i] = sequence.slot(start + i);
  }
  const end = t + tokens.length;
  arrays.cuSeqlens[s + 1] = end;
  arrays.kvLengths[s] = start + tokens.length;
  step.change('blockTable', sequence.blockTable, s * (arrays.blockTable.length / arrays.kvLengths.length));
  return end;
}
