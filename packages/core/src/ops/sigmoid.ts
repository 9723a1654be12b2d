import { tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import { map } from './elementwise.js';

export const sigmoid = defineOp({
  name: 'sigmoid',
  doc: '1 / (1 + e⁻ˣ), element by element.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'none',
  infer: ({ x }) => [{ shape: x.shape, dtype: tensorDtype(x) }],
  define: ({ x }, _attributes, [y]) => map(x, y!, (value) => 1 / (1 + Math.exp(-value))),
  tolerance: { f32: { absolute: 1e-37, relative: 2e-6 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [3, 37], 3) }, attributes: {} },
    { name: 'empty', operands: { x: zeros([0, 3]) }, attributes: {} },
    {
      name: 'far from zero',
      operands: { x: floats([-200, -80, -12, 12, 200, Infinity, -Infinity, Number.NaN]) },
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

/** 1 / (1 + e⁻ˣ), element by element. */
export function call(x: Tensor): Tensor {
  return record(x, sigmoid, { x });
}

export const fill = 'host' satisfies Fill;
