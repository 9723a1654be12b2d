import { tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import { map } from './elementwise.js';

export const tanh = defineOp({
  name: 'tanh',
  doc: 'Hyperbolic tangent, element by element.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'none',
  infer: ({ x }) => [{ shape: x.shape, dtype: tensorDtype(x) }],
  define: ({ x }, _attributes, [y]) => map(x, y!, Math.tanh),
  tolerance: { f32: { absolute: 1e-7, relative: 2e-6 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [3, 37], 2) }, attributes: {} },
    { name: 'near zero', operands: { x: normal(2, [2, 40], 1e-4) }, attributes: {} },
    { name: 'empty', operands: { x: zeros([0, 3]) }, attributes: {} },
    {
      name: 'far from zero',
      operands: { x: floats([-200, -12, 12, 200, Infinity, -Infinity, Number.NaN]) },
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

/** Hyperbolic tangent. */
export function call(x: Tensor): Tensor {
  return record(x, tanh, { x });
}
