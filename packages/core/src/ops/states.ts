import type { AttentionBatch } from '../kv/batch.js';
import { badArgument, needRank, needShape, outOfRange } from '../op/check.js';
import type { OperandRule, OperandSpec } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import type { Tensor } from '../tensor.js';

/** Operands of ops that keep a state of fixed size per sequence. `state`: the last operand. */
export const stateOperands = {
  cuSeqlens: { kind: 'tensor', dtypes: ['i32'] },
  states: { kind: 'tensor', dtypes: ['i32'] },
  state: { kind: 'buffer', dtypes: ['f32'], written: true },
} as const satisfies Record<string, OperandRule>;

export const stateRange =
  'cuSeqlens runs from 0 to T and never falls; −1 ≤ states[s] < slots. A slot that a sequence writes is read and written by no other sequence';

export const stateDoc =
  'The batch is ragged: rows cuSeqlens[s] to cuSeqlens[s+1] belong to sequence s. Its state is read from slot states[s][0] of `state` (−1: zeros) and, after its last row, ' +
  'written to slot states[s][1] (−1: nowhere). A sequence without rows copies its state.';

/** Shapes: cuSeqlens [S + 1], states [S, 2], state [slots, 1, heads, width]. */
export function needStates(
  op: string,
  { cuSeqlens, states, state }: Record<'cuSeqlens' | 'states' | 'state', OperandSpec>,
  [heads, width]: readonly [heads: number, width: number],
): void {
  needRank(op, 'states', states, 2, '[S, 2]');
  const [S] = states.shape as [number];
  needShape(op, 'states', states.shape, [S, 2], 'a slot to read and a slot to write');
  needShape(op, 'cuSeqlens', cuSeqlens.shape, [S + 1], 'S + 1, S rows of states');
  needRank(op, 'state', state, 4, '[slots, 1, heads, width]');
  needShape(op, 'state', state.shape, [state.shape[0]!, 1, heads, width], 'slots');
}

/** Rows [first, end) of a sequence, and its slots. */
export interface StateRows {
  readonly first: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

/** The sequences of a batch of T rows. Throws OUT_OF_RANGE. */
export function sequencesOf(
  op: string,
  T: number,
  { cuSeqlens, states, state }: Record<'cuSeqlens' | 'states' | 'state', Numbers>,
): readonly StateRows[] {
  const [S, slots] = [states.shape[0]!, state.shape[0]!];
  const bounds = cuSeqlens.data;
  if (bounds[0] !== 0 || bounds[S] !== T)
    throw outOfRange(op, `cuSeqlens must run from 0 to ${T} (rows); got ${bounds[0]} to ${bounds[S]}`);
  return Array.from({ length: S }, (_, s) => {
    const rows = {
      first: bounds[s]!,
      end: bounds[s + 1]!,
      from: states.data[2 * s]!,
      to: states.data[2 * s + 1]!,
    };
    if (rows.end < rows.first) throw outOfRange(op, `cuSeqlens falls at ${s}: ${rows.first} to ${rows.end}`);
    for (const slot of [rows.from, rows.to])
      if (slot < -1 || slot >= slots)
        throw outOfRange(op, `states[${s}] has slot ${slot}, but there are ${slots} slots`);
    return rows;
  });
}

/** The state of a sequence, copied: [size]. */
export function readState({ data, shape }: Numbers, { from }: StateRows): Float64Array {
  const size = shape[2]! * shape[3]!;
  return Float64Array.from({ length: size }, (_, i) => (from < 0 ? 0 : data[from * size + i]!));
}

export function writeState({ data }: Numbers, { to }: StateRows, values: Float64Array): void {
  if (to < 0) return;
  for (const [i, value] of values.entries()) data[to * values.length + i] = value;
}

/** The tensors of a batch that say where states are. @throws BackendError BAD_ARGUMENT */
export function placesOf(
  op: string,
  { cuSeqlens, states }: Pick<AttentionBatch, 'cuSeqlens' | 'states'>,
): { readonly cuSeqlens: Tensor; readonly states: Tensor } {
  if (states) return { cuSeqlens, states };
  throw badArgument(op, "the batch has no states: those of a cache whose layerStates keep a 'state' have");
}

/** cuSeqlens of sequences with these rows. */
export function boundsOf(rows: readonly number[]): readonly number[] {
  const bounds = [0];
  for (const count of rows) bounds.push(bounds.at(-1)! + count);
  return bounds;
}
