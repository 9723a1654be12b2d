import { lastDim, rowCount, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';

export const softmax = defineOp({
  name: 'softmax',
  doc: 'e^(x − max) / Σ e^(x − max) over the last dimension.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'f32',
  infer: ({ x }) => [{ shape: x.shape, dtype: tensorDtype(x) }],
  define({ x }, _attributes, [y]) {
    const width = lastDim(x.shape);
    for (let row = 0; row < rowCount(x.shape); row++) {
      const at = row * width;
      let max = -Infinity;
      for (let i = 0; i < width; i++) max = Math.max(max, x.data[at + i]!);
      let sum = 0;
      for (let i = 0; i < width; i++) sum += Math.exp(x.data[at + i]! - max);
      for (let i = 0; i < width; i++) y!.data[at + i] = Math.exp(x.data[at + i]! - max) / sum;
    }
  },
  tolerance: { f32: { absolute: 1e-7, relative: 1e-5 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [4, 37], 4) }, attributes: {} },
    { name: 'one element', operands: { x: normal(2, [3, 1]) }, attributes: {} },
    { name: 'large values', operands: { x: floats([1000, 999, -1000, 1000], [1, 4]) }, attributes: {} },
    { name: 'masked entries', operands: { x: floats([1, -Infinity, 2, -Infinity], [1, 4]) }, attributes: {} },
    {
      name: 'a NaN spoils its row only',
      operands: { x: floats([1, Number.NaN, 1, 2], [2, 2]) },
      attributes: {},
    },
    { name: 'empty', operands: { x: zeros([0, 5]) }, attributes: {} },
  ],
  errors: () => [
    {
      name: 'integers',
      operands: { x: zeros([2, 4], 'i32') },
      attributes: {},
      code: 'BAD_DTYPE',
      when: 'record',
    },
  ],
});

/** Over the last dimension. */
export function call(x: Tensor): Tensor {
  return record(x, softmax, { x });
}
