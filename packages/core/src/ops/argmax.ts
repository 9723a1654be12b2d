import { badShape, lastDim, rowCount } from '../op/check.js';
import type { OperandSpec } from '../op/define-op.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal } from '../testing/samples.js';

/** [.., V] with V ≥ 1 → [..]. */
export function inferArgmax(op: string, x: OperandSpec) {
  if (x.shape.length === 0 || lastDim(x.shape) === 0)
    throw badShape(op, `x must have a last dimension of 1 or more; got [${x.shape}]`);
  return { shape: x.shape.slice(0, -1), dtype: 'i32' } as const;
}

/** Ties go to the lowest index; NaN never wins against a number. */
export function defineArgmax(x: Numbers, y: Numbers): void {
  const width = lastDim(x.shape);
  for (let row = 0; row < rowCount(x.shape); row++) {
    let [best, max] = [0, -Infinity];
    for (let i = 0; i < width; i++)
      if (x.data[row * width + i]! > max) [best, max] = [i, x.data[row * width + i]!];
    y.data[row] = best;
  }
}

export const argmax = defineOp({
  name: 'argmax',
  doc: 'Index of the largest element over the last dimension, [.., V] → [..] as i32; ties go to the lowest index, NaN never wins, a row without a number above −∞ gives 0.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'none',
  infer: ({ x }) => [inferArgmax('argmax', x)],
  define: ({ x }, _attributes, [y]) => defineArgmax(x, y!),
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [5, 131]) }, attributes: {} },
    { name: 'long rows', operands: { x: normal(3, [2, 9000]) }, attributes: {} },
    { name: 'one element', operands: { x: normal(2, [2, 1]) }, attributes: {} },
    { name: 'ties', operands: { x: floats([1, 3, 3, 2, 3, 3, 1, 3], [2, 4]) }, attributes: {} },
    {
      name: 'ties across a vector register',
      operands: {
        x: {
          shape: [1, 70],
          format: 'f32',
          values: Float32Array.from({ length: 70 }, (_, i) => (i % 17 === 16 ? 2 : 1)),
        },
      },
      attributes: {},
    },
    {
      name: 'NaN never wins',
      operands: { x: floats([Number.NaN, 1, 2, Number.NaN, -1, -2], [2, 3]) },
      attributes: {},
    },
    { name: 'only −∞', operands: { x: floats([-Infinity, -Infinity], [1, 2]) }, attributes: {} },
    { name: 'no rows', operands: { x: { shape: [0, 9], format: 'f32', values: [] } }, attributes: {} },
  ],
  errors: () => [
    {
      name: 'no columns',
      operands: { x: { shape: [2, 0], format: 'f32', values: [] } },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** Index of the largest element over the last dimension, as i32; ties go to the lowest. */
export function call(x: Tensor): Tensor {
  return record(x, argmax, { x });
}
