import { badShape, lastDim, rowCount, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';

export const l2Normalise = defineOp({
  name: 'l2Normalise',
  doc: 'x / √Σx² over the last dimension, so that a dot product is a cosine; a row of zeros stays unchanged.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x }) {
    if (x.shape.length === 0) throw badShape('l2Normalise', 'x must have at least one dimension; got []');
    return [{ shape: x.shape, dtype: tensorDtype(x) }];
  },
  define({ x }, _attributes, [y]) {
    const width = lastDim(x.shape);
    for (let row = 0; row < rowCount(x.shape); row++) {
      let squares = 0;
      for (let i = 0; i < width; i++) squares += x.data[row * width + i]! ** 2;
      const norm = squares === 0 ? 1 : Math.sqrt(squares);
      for (let i = 0; i < width; i++) y!.data[row * width + i] = x.data[row * width + i]! / norm;
    }
  },
  tolerance: { f32: { absolute: 1e-7, relative: 1e-6 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [5, 33], 3) }, attributes: {} },
    { name: 'wide', operands: { x: normal(2, [2, 1024]) }, attributes: {} },
    { name: 'tiny and huge', operands: { x: floats([1e-30, 2e-30, 3e30, 4e30], [2, 2]) }, attributes: {} },
    { name: 'zeros', operands: { x: zeros([2, 8]) }, attributes: {} },
    { name: 'empty', operands: { x: zeros([0, 8]) }, attributes: {} },
    {
      name: 'a NaN stays in its row',
      operands: { x: floats([1, Number.NaN, 2, 3], [2, 2]) },
      attributes: {},
    },
  ],
  errors: () => [
    {
      name: 'no dimensions',
      operands: { x: floats([1], []) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** x / √Σx² over the last dimension; a row of zeros stays as it is. */
export function call(x: Tensor): Tensor {
  return record(x, l2Normalise, { x });
}
