import { badArgument, badShape, needRank, outOfRange, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, ints, normal } from '../testing/samples.js';

/** Values of pool's `by` attribute. */
export const poolings = { cls: 0, mean: 1, last: 2 } as const;
export type Pooling = keyof typeof poolings;

/** Throws OUT_OF_RANGE unless the bounds rise from 0 to T and every sequence has a row. */
function checkBounds({ data }: Numbers, rows: number): void {
  const S = data.length - 1;
  if (data[0] !== 0 || data[S] !== rows)
    throw outOfRange(
      'pool',
      `cuSeqlens must run from 0 to ${rows} (rows of x); got ${data[0]} to ${data[S]}`,
    );
  for (let s = 0; s < S; s++)
    if (data[s + 1]! <= data[s]!)
      throw outOfRange('pool', `sequence ${s} runs from row ${data[s]} to ${data[s + 1]}: it needs a row`);
}

/** Reduces the rows of each sequence to one. `absolute`: sums |x| instead, for tolerances. */
function reduce(x: Numbers, cuSeqlens: Numbers, by: number, y: Numbers, absolute: boolean): void {
  const [T, D] = x.shape as [number, number];
  checkBounds(cuSeqlens, T);
  const value = (index: number) => (absolute ? Math.abs(x.data[index]!) : x.data[index]!);
  for (let s = 0; s + 1 < cuSeqlens.data.length; s++) {
    const [first, end] = [cuSeqlens.data[s]!, cuSeqlens.data[s + 1]!];
    for (let i = 0; i < D; i++) {
      let sum = 0;
      for (let t = first; t < end; t++) sum += value(t * D + i);
      y.data[s * D + i] =
        by === poolings.mean ? sum / (end - first) : value((by === poolings.cls ? first : end - 1) * D + i);
    }
  }
}

const ragged = { x: normal(1, [12, 19]), cuSeqlens: ints([0, 4, 5, 12]) };

export const pool = defineOp({
  name: 'pool',
  doc:
    'One row per sequence of a ragged batch: x [T, D] → [S, D]. Sequence s has rows cuSeqlens[s] to cuSeqlens[s+1]. `by` is 0 cls (the first row), ' +
    '1 mean, 2 last. Every sequence needs a row.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, cuSeqlens: { kind: 'tensor', dtypes: ['i32'] } },
  attributes: { by: 'i32' },
  inRange: 'cuSeqlens runs from 0 to T, and every sequence has a row',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, cuSeqlens }, { by }) {
    needRank('pool', 'x', x, 2, '[T, D]');
    needRank('pool', 'cuSeqlens', cuSeqlens, 1, '[S + 1]');
    if (cuSeqlens.shape[0] === 0) throw badShape('pool', 'cuSeqlens must have S + 1 entries; got 0');
    if (by !== 0 && by !== 1 && by !== 2)
      throw badArgument('pool', `by must be 0 (cls), 1 (mean) or 2 (last); got ${by}`);
    return [{ shape: [cuSeqlens.shape[0]! - 1, x.shape[1]!], dtype: tensorDtype(x) }];
  },
  define: ({ x, cuSeqlens }, { by }, [y]) => reduce(x, cuSeqlens, by, y!, false),
  magnitude: ({ x, cuSeqlens }, { by }, [y]) => reduce(x, cuSeqlens, by, y!, true),
  tolerance: { f32: { absolute: 1e-7, relative: 1e-6 } },
  samples: () => [
    { name: 'cls', operands: ragged, attributes: { by: poolings.cls } },
    { name: 'mean', operands: ragged, attributes: { by: poolings.mean } },
    { name: 'last', operands: ragged, attributes: { by: poolings.last } },
    {
      name: 'mean of many rows',
      operands: { x: normal(2, [512, 64], 10), cuSeqlens: ints([0, 512]) },
      attributes: { by: poolings.mean },
    },
    {
      name: 'a NaN stays in its sequence',
      operands: { x: floats([1, Number.NaN, 2, 3], [4, 1]), cuSeqlens: ints([0, 2, 4]) },
      attributes: { by: poolings.mean },
    },
    {
      name: 'no sequences',
      operands: { x: normal(3, [0, 8]), cuSeqlens: ints([0]) },
      attributes: { by: poolings.cls },
    },
  ],
  errors: () => [
    {
      name: 'a sequence without rows',
      operands: { ...ragged, cuSeqlens: ints([0, 4, 4, 12]) },
      attributes: { by: poolings.mean },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'bounds past the rows',
      operands: { ...ragged, cuSeqlens: ints([0, 13]) },
      attributes: { by: poolings.last },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'unknown pooling',
      operands: ragged,
      attributes: { by: 3 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
    {
      name: 'x of rank 1',
      operands: { ...ragged, x: normal(1, [12]) },
      attributes: { by: poolings.cls },
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** One row for each sequence of a ragged batch: x [T, D], cuSeqlens [S + 1] → [S, D]. */
export function call(x: Tensor, cuSeqlens: Tensor, options: { readonly by: Pooling }): Tensor {
  return record(x, pool, { x, cuSeqlens }, { by: poolings[options.by] });
}
