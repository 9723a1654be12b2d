import { tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import { map } from './elementwise.js';

export const log10 = defineOp({
  name: 'log10',
  doc: 'log₁₀(max(x, floor)), element by element: for logarithms of power spectra. The least output is log₁₀(floor).',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: { floor: 'f32' },
  outputs: ['y'],
  accumulation: 'none',
  infer: ({ x }) => [{ shape: x.shape, dtype: tensorDtype(x) }],
  define: ({ x }, { floor }, [y]) => map(x, y!, (value) => Math.log10(Math.max(value, floor))),
  tolerance: { f32: { absolute: 1e-6, relative: 1e-6 } },
  samples: () => [
    {
      name: 'rows, half of them below the floor',
      operands: { x: normal(1, [3, 37]) },
      attributes: { floor: 1e-10 },
    },
    {
      name: 'far from one',
      operands: { x: floats([1e-38, 1e-9, 1, 1e9, 3e38, Infinity, -Infinity, Number.NaN]) },
      attributes: { floor: 1e-30 },
    },
    { name: 'a floor of 0', operands: { x: floats([0, 1, 10]) }, attributes: { floor: 0 } },
    { name: 'empty', operands: { x: zeros([0, 3]) }, attributes: { floor: 1e-10 } },
  ],
  errors: () => [
    {
      name: 'integers',
      operands: { x: zeros([4], 'i32') },
      attributes: { floor: 1e-10 },
      code: 'BAD_DTYPE',
      when: 'record',
    },
  ],
});

/** log₁₀(max(x, floor)). */
export function call(x: Tensor, options: { readonly floor: number }): Tensor {
  return record(x, log10, { x }, { floor: options.floor });
}
