import { badArgument, lastDim, needShape, rowCount, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import type { Weight } from '../weight.js';

/** y = x / √(mean(x²) + eps) · w over each row of `width` elements. */
export function defineRmsNorm(x: Numbers, w: Numbers, eps: number, y: Numbers): void {
  const width = lastDim(x.shape);
  for (let row = 0; row < rowCount(x.shape); row++) {
    let squares = 0;
    for (let i = 0; i < width; i++) squares += x.data[row * width + i]! ** 2;
    const factor = 1 / Math.sqrt(squares / width + eps);
    for (let i = 0; i < width; i++) y.data[row * width + i] = x.data[row * width + i]! * factor * w.data[i]!;
  }
}

export const needEps = (op: string, eps: number): void => {
  if (!(eps >= 0 && eps < 1)) throw badArgument(op, `eps must be in [0, 1); got ${eps}`);
};

export const rmsNorm = defineOp({
  name: 'rmsNorm',
  doc: 'x / √(mean(x²) + eps) · w over the last dimension: [.., D], [D] → [.., D].',
  source: 'Zhang & Sennrich 2019, Root Mean Square Layer Normalization, eq. 4',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, w: { kind: 'weight' } },
  attributes: { eps: 'f32' },
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, w }, { eps }) {
    needShape('rmsNorm', 'w', w.shape, [lastDim(x.shape)], `last dim of x [${x.shape}]`);
    needEps('rmsNorm', eps);
    return [{ shape: x.shape, dtype: tensorDtype(x) }];
  },
  define: ({ x, w }, { eps }, [y]) => defineRmsNorm(x, w, eps, y!),
  tolerance: { f32: { absolute: 1e-6, relative: 4e-6 } },
  samples: () => [
    { name: 'one row', operands: { x: normal(1, [1, 64]), w: normal(2, [64]) }, attributes: { eps: 1e-5 } },
    { name: 'odd width', operands: { x: normal(3, [5, 33]), w: normal(4, [33]) }, attributes: { eps: 1e-6 } },
    {
      name: 'per head',
      operands: { x: normal(5, [3, 4, 16]), w: normal(6, [16]) },
      attributes: { eps: 1e-6 },
    },
    {
      name: 'wide',
      operands: { x: normal(7, [2, 2048], 30), w: normal(8, [2048]) },
      attributes: { eps: 1e-6 },
    },
    { name: 'zeros', operands: { x: zeros([2, 8]), w: normal(9, [8]) }, attributes: { eps: 1e-5 } },
    { name: 'empty', operands: { x: zeros([0, 8]), w: normal(10, [8]) }, attributes: { eps: 1e-5 } },
    {
      name: 'a NaN stays in its row',
      operands: { x: floats([1, Number.NaN, 2, 3], [2, 2]), w: floats([1, 2]) },
      attributes: { eps: 1e-5 },
    },
  ],
  errors: () => [
    {
      name: 'w of another width',
      operands: { x: normal(11, [2, 16]), w: normal(12, [15]) },
      attributes: { eps: 1e-5 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'negative eps',
      operands: { x: normal(13, [2, 16]), w: normal(14, [16]) },
      attributes: { eps: -1 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});

/** x / √(mean(x²) + eps) · w over the last dimension. */
export function call(x: Tensor, w: Weight, options: { readonly eps: number }): Tensor {
  return record(x, rmsNorm, { x, w }, { eps: options.eps });
}
