import { needRank, outOfRange, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { ints, normal } from '../testing/samples.js';

export const gatherRows = defineOp({
  name: 'gatherRows',
  doc: 'Rows of x by index: [T, D], [R] → [R, D].',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, rows: { kind: 'tensor', dtypes: ['i32'] } },
  attributes: {},
  inRange: '0 ≤ rows[r] < T',
  outputs: ['y'],
  accumulation: 'none',
  infer({ x, rows }) {
    needRank('gatherRows', 'x', x, 2, '[T, D]');
    needRank('gatherRows', 'rows', rows, 1, '[R]');
    return [{ shape: [rows.shape[0]!, x.shape[1]!], dtype: tensorDtype(x) }];
  },
  define({ x, rows }, _attributes, [y]) {
    const [T, D] = x.shape as [number, number];
    for (let r = 0; r < rows.data.length; r++) {
      const row = rows.data[r]!;
      if (row < 0 || row >= T) throw outOfRange('gatherRows', `rows[${r}] is ${row}, but x has ${T} rows`);
      for (let i = 0; i < D; i++) y!.data[r * D + i] = x.data[row * D + i]!;
    }
  },
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [
    { name: 'the last row', operands: { x: normal(1, [6, 19]), rows: ints([5]) }, attributes: {} },
    { name: 'repeated rows', operands: { x: normal(2, [3, 8]), rows: ints([2, 0, 2, 1]) }, attributes: {} },
    { name: 'none', operands: { x: normal(3, [3, 8]), rows: ints([]) }, attributes: {} },
  ],
  errors: () => [
    {
      name: 'past the end',
      operands: { x: normal(4, [3, 8]), rows: ints([3]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'negative',
      operands: { x: normal(5, [3, 8]), rows: ints([-1]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'rows of rank 2',
      operands: { x: normal(6, [3, 8]), rows: ints([0], [1, 1]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** Rows of x [T, D] by index [R] → [R, D]. */
export function call(x: Tensor, rows: Tensor): Tensor {
  return record(x, gatherRows, { x, rows });
}
