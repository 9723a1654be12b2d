import { lastDim, needShape, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { defineRmsNorm, needEps } from '../ops/rms-norm.js';
import { floats, normal, zeros } from '../testing/samples.js';

export const addRmsNorm = defineOp({
  name: 'addRmsNorm',
  doc: 'sum = a + b and y = rmsNorm(sum, w): [.., D] twice, [D] → [.., D] twice.',
  operands: {
    a: { kind: 'tensor', dtypes: ['f32'] },
    b: { kind: 'tensor', dtypes: ['f32'] },
    w: { kind: 'weight' },
  },
  attributes: { eps: 'f32' },
  replaces:
    '`sum = add(a, b)`, `rmsNorm(sum, w)`, where a and b have one shape; sum stays an output: it is the residual stream',
  outputs: ['sum', 'y'],
  accumulation: 'f32',
  infer({ a, b, w }, { eps }) {
    needShape('addRmsNorm', 'b', b.shape, a.shape, 'as a');
    needShape('addRmsNorm', 'w', w.shape, [lastDim(a.shape)], `last dim of a [${a.shape}]`);
    needEps('addRmsNorm', eps);
    const spec = { shape: a.shape, dtype: tensorDtype(a) };
    return [spec, spec];
  },
  define({ a, b, w }, { eps }, [sum, y]) {
    for (let i = 0; i < a.data.length; i++) sum!.data[i] = a.data[i]! + b.data[i]!;
    defineRmsNorm(sum!, w, eps, y!);
  },
  tolerance: { f32: { absolute: 1e-6, relative: 4e-6 } },
  samples: () => [
    {
      name: 'one row',
      operands: { a: normal(1, [1, 64]), b: normal(2, [1, 64]), w: normal(3, [64]) },
      attributes: { eps: 1e-5 },
    },
    {
      name: 'odd width',
      operands: { a: normal(4, [5, 33]), b: normal(5, [5, 33]), w: normal(6, [33]) },
      attributes: { eps: 1e-6 },
    },
    {
      name: 'empty',
      operands: { a: zeros([0, 8]), b: zeros([0, 8]), w: normal(7, [8]) },
      attributes: { eps: 1e-6 },
    },
    {
      name: 'a NaN stays in its row',
      operands: {
        a: floats([1, Number.NaN, 2, 3], [2, 2]),
        b: floats([1, 1, 1, 1], [2, 2]),
        w: floats([1, 2]),
      },
      attributes: { eps: 1e-5 },
    },
  ],
  errors: () => [],
});
