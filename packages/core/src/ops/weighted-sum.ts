import { needRank, needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { normal } from '../testing/samples.js';

/** Sums weight · x over the middle dimension. `term` maps each product. */
function sumTerms(x: Numbers, weights: Numbers, y: Numbers, term: (product: number) => number): void {
  const [T, k, D] = x.shape as [number, number, number];
  for (let t = 0; t < T; t++)
    for (let i = 0; i < D; i++) {
      let sum = 0;
      for (let j = 0; j < k; j++) sum += term(weights.data[t * k + j]! * x.data[(t * k + j) * D + i]!);
      y.data[t * D + i] = sum;
    }
}

export const weightedSum = defineOp({
  name: 'weightedSum',
  doc: 'Σ over j of weights[t, j] · x[t, j]: [T, k, D], [T, k] → [T, D].',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, weights: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, weights }) {
    needRank('weightedSum', 'x', x, 3, '[T, k, D]');
    needShape('weightedSum', 'weights', weights.shape, x.shape.slice(0, 2), 'x is [T, k, D]');
    return [{ shape: [x.shape[0]!, x.shape[2]!], dtype: 'f32' }];
  },
  define: ({ x, weights }, _attributes, [y]) => sumTerms(x, weights, y!, (product) => product),
  magnitude: ({ x, weights }, _attributes, [y]) => sumTerms(x, weights, y!, Math.abs),
  tolerance: { f32: { absolute: 1e-7, relative: 2e-6 } },
  samples: () => [
    {
      name: 'rows',
      operands: { x: normal(1, [3, 8, 37]), weights: normal(2, [3, 8]) },
      attributes: {},
    },
    { name: 'one', operands: { x: normal(3, [1, 1, 16]), weights: normal(4, [1, 1]) }, attributes: {} },
    { name: 'no rows', operands: { x: normal(5, [0, 2, 16]), weights: normal(6, [0, 2]) }, attributes: {} },
  ],
  errors: () => [
    {
      name: 'a weight missing',
      operands: { x: normal(7, [2, 3, 4]), weights: normal(8, [2, 2]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** Σ over j of weights[t, j] · x[t, j]: x [T, k, D], weights [T, k] → [T, D]. */
export function call(x: Tensor, weights: Tensor): Tensor {
  return record(x, weightedSum, { x, weights });
}
