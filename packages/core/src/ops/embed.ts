import { badArgument, needRank, outOfRange } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { as, ints, normal } from '../testing/samples.js';
import type { Weight } from '../weight.js';

export const embed = defineOp({
  name: 'embed',
  doc: 'Rows of a table by id: [V, D], [T] → [T, D]. Of a quantised table, only these rows are decoded.',
  operands: { table: { kind: 'weight' }, ids: { kind: 'tensor', dtypes: ['i32'] } },
  attributes: {},
  inRange: '0 ≤ ids[t] < V',
  outputs: ['y'],
  accumulation: 'none',
  infer({ table, ids }) {
    needRank('embed', 'table', table, 2, '[V, D]');
    needRank('embed', 'ids', ids, 1, '[T]');
    if (table.shape[0] === 0) throw badArgument('embed', 'table has no rows');
    return [{ shape: [ids.shape[0]!, table.shape[1]!], dtype: 'f32' }];
  },
  define({ table, ids }, _attributes, [y]) {
    const [vocabulary, width] = table.shape as [number, number];
    for (let t = 0; t < ids.data.length; t++) {
      const id = ids.data[t]!;
      if (id < 0 || id >= vocabulary)
        throw outOfRange('embed', `ids[${t}] is ${id}, but the table has ${vocabulary} rows`);
      for (let i = 0; i < width; i++) y!.data[t * width + i] = table.data[id * width + i]!;
    }
  },
  tolerance: { f32: { absolute: 0, relative: 0 }, quantised: { absolute: 0, relative: 0 } },
  samples: () => [
    { name: 'one row', operands: { table: normal(1, [5, 8]), ids: ints([3]) }, attributes: {} },
    {
      name: 'repeated ids',
      operands: { table: normal(2, [17, 33]), ids: ints([0, 16, 16, 7]) },
      attributes: {},
    },
    { name: 'no ids', operands: { table: normal(3, [4, 8]), ids: ints([]) }, attributes: {} },
    {
      name: 'f16 table',
      operands: { table: as('f16', normal(4, [9, 31])), ids: ints([8, 1]) },
      attributes: {},
    },
    {
      name: 'bf16 table',
      operands: { table: as('bf16', normal(5, [9, 31])), ids: ints([8, 1]) },
      attributes: {},
    },
  ],
  errors: () => [
    {
      name: 'id past the table',
      operands: { table: normal(6, [4, 8]), ids: ints([1, 4]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'negative id',
      operands: { table: normal(7, [4, 8]), ids: ints([-1]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'ids of rank 2',
      operands: { table: normal(8, [4, 8]), ids: ints([1, 2], [1, 2]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'float ids',
      operands: { table: normal(9, [4, 8]), ids: normal(9, [2]) },
      attributes: {},
      code: 'BAD_DTYPE',
      when: 'record',
    },
  ],
});

/** Rows of `table` [V, D] by `ids` [T] → [T, D]. An id outside the table rejects the run with OUT_OF_RANGE. */
export function call(table: Weight, ids: Tensor): Tensor {
  return record(ids, embed, { table, ids });
}
