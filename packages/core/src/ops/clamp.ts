import { badArgument, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import { map } from './elementwise.js';

/** NaN stays NaN. */
const clamped = (low: number, high: number) => (x: number) => Math.min(high, Math.max(low, x));

export const clamp = defineOp({
  name: 'clamp',
  doc: 'x, but at least low and at most high, element by element; NaN stays NaN. low and high may be infinite.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: { low: 'f32', high: 'f32' },
  outputs: ['y'],
  accumulation: 'none',
  infer({ x }, { low, high }) {
    if (!(low <= high)) throw badArgument('clamp', `low must be at most high; got ${low} and ${high}`);
    return [{ shape: x.shape, dtype: tensorDtype(x) }];
  },
  define: ({ x }, { low, high }, [y]) => map(x, y!, clamped(low, high)),
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [3, 37], 5) }, attributes: { low: -7, high: 7 } },
    { name: 'one side', operands: { x: normal(2, [2, 40]) }, attributes: { low: -Infinity, high: 0.3 } },
    { name: 'the other side', operands: { x: normal(3, [2, 8]) }, attributes: { low: 0, high: Infinity } },
    { name: 'empty', operands: { x: zeros([0, 3]) }, attributes: { low: 0, high: 1 } },
    {
      name: 'not finite',
      operands: { x: floats([-Infinity, Number.NaN, Infinity, 0.5, 2, -2, Number.NaN, 1, 0]) },
      attributes: { low: -1, high: 1 },
    },
  ],
  errors: () => [
    {
      name: 'low above high',
      operands: { x: normal(4, [4]) },
      attributes: { low: 1, high: -1 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
    {
      name: 'integers',
      operands: { x: zeros([4], 'i32') },
      attributes: { low: 0, high: 1 },
      code: 'BAD_DTYPE',
      when: 'record',
    },
  ],
});

/** x, but at least `low` and at most `high`. @throws BackendError BAD_ARGUMENT for low above high */
export function call(x: Tensor, low: number, high: number): Tensor {
  return record(x, clamp, { x }, { low, high });
}

export const fill = 'host' satisfies Fill;
