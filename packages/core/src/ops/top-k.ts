import { badArgument, badShape, lastDim, rowCount } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { stepOf } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal } from '../testing/samples.js';

/** NaN counts as −∞. */
export const rank = (x: number): number => (Number.isNaN(x) ? -Infinity : x);

/** Indices of the k largest values, falling; ties by index. */
export function largest(values: ArrayLike<number>, k: number): number[] {
  const order = Array.from({ length: values.length }, (_, i) => i);
  return order.sort((i, j) => rank(values[j]!) - rank(values[i]!) || i - j).slice(0, k);
}

export const topK = defineOp({
  name: 'topK',
  doc: 'The k largest elements over the last dimension, in falling order: [.., V] → values [.., k] and indices [.., k] (i32); ties go to the lowest index, NaN counts as −∞.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: { k: 'i32' },
  outputs: ['values', 'indices'],
  accumulation: 'none',
  infer({ x }, { k }) {
    if (x.shape.length === 0) throw badShape('topK', 'x must have at least one dimension');
    const width = lastDim(x.shape);
    if (!Number.isInteger(k) || k < 1 || k > width)
      throw badArgument('topK', `k must be a whole number from 1 to ${width} (last dim of x); got ${k}`);
    const shape = [...x.shape.slice(0, -1), k];
    return [
      { shape, dtype: 'f32' },
      { shape, dtype: 'i32' },
    ];
  },
  define({ x }, { k }, [values, indices]) {
    const width = lastDim(x.shape);
    for (let row = 0; row < rowCount(x.shape); row++) {
      const elements = x.data.subarray(row * width, (row + 1) * width);
      for (const [i, index] of largest(elements, k).entries()) {
        values!.data[row * k + i] = rank(elements[index]!);
        indices!.data[row * k + i] = index;
      }
    }
  },
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [3, 50]) }, attributes: { k: 5 } },
    { name: 'all of them', operands: { x: normal(2, [2, 7]) }, attributes: { k: 7 } },
    { name: 'ties', operands: { x: floats([2, 1, 2, 2], [1, 4]) }, attributes: { k: 2 } },
    { name: 'long rows', operands: { x: normal(5, [3, 3001]) }, attributes: { k: 128 } },
    { name: 'long rows, a few', operands: { x: normal(6, [2, 9000]) }, attributes: { k: 3 } },
    {
      name: 'long rows of ties, NaN and infinities',
      operands: {
        x: {
          shape: [2, 2500],
          format: 'f32',
          values: Float32Array.from({ length: 5000 }, (_, i) =>
            i % 97 === 0 ? Number.NaN : i % 89 === 0 ? Infinity : i < 2500 ? (i * 7) % 13 : -Infinity,
          ),
        },
      },
      attributes: { k: 150 },
    },
    { name: 'NaN last', operands: { x: floats([Number.NaN, 1, 2], [1, 3]) }, attributes: { k: 3 } },
  ],
  errors: () => [
    {
      name: 'k too large',
      operands: { x: normal(3, [2, 4]) },
      attributes: { k: 5 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
    {
      name: 'k of zero',
      operands: { x: normal(4, [2, 4]) },
      attributes: { k: 0 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});

/** The k largest over the last dimension, falling; ties go to the lowest index. */
export function call(x: Tensor, k: number): { readonly values: Tensor; readonly indices: Tensor } {
  const [values, indices] = stepOf('topK', x).record(topK, { x }, { k });
  return { values: values!, indices: indices! };
}
