import { lastDim, needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { layerNorm, rowStatistics } from '../ops/layer-norm.js';
import { floats, normal, zeros } from '../testing/samples.js';

/** Largest share of a sum lost by rounding to f32, in units of the relative tolerance. */
const lostOfSum = 1 / 64;

/** Error in y from the rounding of the sum. Largest for a row with a mean far from zero and a small variance. */
function addLost(sum: Numbers, w: Numbers, eps: number, y: Numbers): void {
  const width = lastDim(sum.shape);
  for (let at = 0; at < sum.data.length; at += width) {
    const row = sum.data.subarray(at, at + width);
    const { factor } = rowStatistics(row, width, eps);
    const largest = Math.max(...Array.from(row, Math.abs));
    for (let i = 0; i < width; i++)
      y.data[at + i] = y.data[at + i]! + 2 * lostOfSum * largest * factor * Math.abs(w.data[i]!);
  }
}

function add(a: Numbers, b: Numbers, sum: Numbers): Numbers {
  for (let i = 0; i < a.data.length; i++) sum.data[i] = a.data[i]! + b.data[i]!;
  return sum;
}

const sample = (name: string, shape: readonly number[], eps = 1e-5) => {
  const width = shape[shape.length - 1]!;
  return {
    name,
    operands: { a: normal(1, shape), b: normal(2, shape), w: normal(3, [width]), bias: normal(4, [width]) },
    attributes: { eps },
  };
};

export const addLayerNorm = defineOp({
  name: 'addLayerNorm',
  doc: 'sum = a + b and y = layerNorm(sum, w, bias): [.., D] twice, [D] twice → [.., D] twice.',
  operands: {
    a: { kind: 'tensor', dtypes: ['f32'] },
    b: { kind: 'tensor', dtypes: ['f32'] },
    w: { kind: 'weight' },
    bias: { kind: 'weight' },
  },
  attributes: { eps: 'f32' },
  replaces: '`sum = add(a, b)`, `layerNorm(sum, w, bias)`, where a and b have one shape; sum stays an output',
  outputs: ['sum', 'y'],
  accumulation: 'f32',
  infer({ a, b, w, bias }, attributes) {
    needShape('addLayerNorm', 'b', b.shape, a.shape, 'as a');
    const [spec] = layerNorm.infer({ x: a, w, b: bias }, attributes);
    return [spec!, spec!];
  },
  define({ a, b, w, bias }, attributes, [sum, y]) {
    layerNorm.define({ x: add(a, b, sum!), w, b: bias }, attributes, [y!]);
  },
  magnitude({ a, b, w, bias }, attributes, [sum, y]) {
    layerNorm.magnitude!({ x: add(a, b, sum!), w, b: bias }, attributes, [y!]);
    addLost(sum!, w, attributes.eps, y!);
    for (let i = 0; i < sum!.data.length; i++) sum!.data[i] = Math.abs(sum!.data[i]!);
  },
  tolerance: { f32: { absolute: 1e-6, relative: 4e-6 } },
  samples: () => [
    sample('one row', [1, 64]),
    sample('odd width', [5, 33], 1e-12),
    sample('per head', [3, 4, 16]),
    { ...sample('empty', [0, 8]), operands: { ...sample('', [0, 8]).operands, a: zeros([0, 8]) } },
    {
      name: 'a NaN stays in its row',
      operands: {
        a: floats([1, Number.NaN, 2, 3], [2, 2]),
        b: floats([1, 1, 1, 2], [2, 2]),
        w: floats([1, 2]),
        bias: floats([0, 1]),
      },
      attributes: { eps: 1e-5 },
    },
  ],
  errors: () => [],
});
