import type { AttentionBatch, BatchArrays, KvPlaces } from '../kv/batch.js';
import type { Step } from '../step.js';
import type { RepeatedStep } from './repeated-step.js';
import type { InputOf, StepArrays } from './step-recipe.js';

/** The arrays of a batch that change from run to run. */
type RunArrays = Pick<BatchArrays, 'positions' | 'slots' | 'kvLengths' | 'blockTable' | 'states'>;

/** Tokens of a sequence for one step, from position `start` on. The sequence must have room for them. */
export interface BatchRows {
  readonly sequence: KvPlaces;
  readonly start: number;
  readonly tokens: ArrayLike<number>;
}

/** The arrays of a batch as tensors of the recording step. */
export function batchInputs(
  input: InputOf<{ readonly [Name in keyof BatchArrays]: Int32Array }>,
  { kvLengths, blockTable, states }: BatchArrays,
): AttentionBatch {
  const S = kvLengths.length;
  return {
    positions: input('positions'),
    cuSeqlens: input('cuSeqlens'),
    kvLengths: input('kvLengths'),
    slots: input('slots'),
    blockTable: input('blockTable', [S, S === 0 ? 0 : blockTable.length / S]),
    lastRows: input('lastRows'),
    ...(states.length > 0 && { states: input('states', [S, 2]) }),
  };
}

/** Makes the arrays inputs of a step. */
export const inputBatch = (step: Step, arrays: BatchArrays): AttentionBatch =>
  batchInputs((name, shape) => step.input(arrays[name], shape), arrays);

/**
 * Writes the places of a batch's rows into a step recorded for the same number of rows and sequences. Of the block
 * table only the differences are written. Blocks beyond a sequence's own are never read and stay unchanged.
 */
export function writeBatch<Arrays extends StepArrays & RunArrays>(
  step: RepeatedStep<Arrays>,
  batch: readonly BatchRows[],
): void {
  const { positions, slots, kvLengths, blockTable, states } = step.arrays;
  const tableWidth = blockTable.length / batch.length;
  let t = 0;
  for (let s = 0; s < batch.length; s++) {
    const { sequence, start, tokens } = batch[s]!;
    const end = start + tokens.length;
    for (let position = start; position < end; position++, t++) {
      positions[t] = position;
      slots[t] = sequence.slot(position);
    }
    kvLengths[s] = end;
    if (states.length > 0) states.set(sequence.states ?? [-1, -1], 2 * s);
    step.change('blockTable', sequence.blockTable, s * tableWidth);
  }
  step.write('positions', 'slots', 'kvLengths');
  if (states.length > 0) step.write('states');
}
