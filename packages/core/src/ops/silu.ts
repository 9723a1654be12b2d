import { tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import { map } from './elementwise.js';

/** x · sigmoid(x). */
export const siluOf = (x: number): number => x / (1 + Math.exp(-x));

export const silu = defineOp({
  name: 'silu',
  doc: 'x / (1 + e⁻ˣ), element by element.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'none',
  infer: ({ x }) => [{ shape: x.shape, dtype: tensorDtype(x) }],
  define: ({ x }, _attributes, [y]) => map(x, y!, siluOf),
  tolerance: { f32: { absolute: 1e-6, relative: 2e-6 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [3, 37], 3) }, attributes: {} },
    { name: 'empty', operands: { x: zeros([0, 3]) }, attributes: {} },
    {
      name: 'far from zero',
      operands: { x: floats([-200, -90, -30, 30, 90, 200, Number.NaN]) },
      attributes: {},
    },
  ],
  errors: () => [
    {
      name: 'integers',
      operands: { x: zeros([4], 'i32') },
      attributes: {},
      code: 'BAD_DTYPE',
      when: 'record',
    },
  ],
});

/** x / (1 + e⁻ˣ). */
export function call(x: Tensor): Tensor {
  return record(x, silu, { x });
}
