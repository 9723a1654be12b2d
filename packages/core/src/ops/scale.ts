import { tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import { map } from './elementwise.js';

export const scale = defineOp({
  name: 'scale',
  doc: 'x · factor; factor in f32.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: { factor: 'f32' },
  outputs: ['y'],
  accumulation: 'none',
  infer: ({ x }) => [{ shape: x.shape, dtype: tensorDtype(x) }],
  define: ({ x }, { factor }, [y]) => map(x, y!, (v) => v * factor),
  tolerance: { f32: { absolute: 0, relative: 1e-7 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [3, 21]) }, attributes: { factor: 0.125 } },
    { name: 'negative factor', operands: { x: normal(2, [1, 5]) }, attributes: { factor: -3 } },
    ...[0.1, Math.sqrt(1152), 1 / 1.702, 1e30].map((factor) => ({
      name: `a factor that f32 rounds, ${factor}`,
      operands: { x: normal(3, [4, 33]) },
      attributes: { factor },
    })),
    { name: 'empty', operands: { x: zeros([0]) }, attributes: { factor: 2 } },
    { name: 'not finite', operands: { x: floats([Infinity, Number.NaN, 0]) }, attributes: { factor: 2 } },
  ],
  errors: () => [
    {
      name: 'integers',
      operands: { x: zeros([4], 'i32') },
      attributes: { factor: 2 },
      code: 'BAD_DTYPE',
      when: 'record',
    },
  ],
});

/** x · factor. */
export function call(x: Tensor, factor: number): Tensor {
  return record(x, scale, { x }, { factor });
}
