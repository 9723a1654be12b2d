import { lastDim, needShape, rowCount, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { as, floats, normal, type SampleOperand, zeros } from '../testing/samples.js';
import type { Weight } from '../weight.js';
import { needEps } from './rms-norm.js';

/** Mean of a row, and 1 / √(variance + eps). */
export function rowStatistics(
  row: Iterable<number>,
  width: number,
  eps: number,
): { mean: number; factor: number } {
  let [sum, squares] = [0, 0];
  for (const value of row) sum += value;
  const mean = sum / width;
  for (const value of row) squares += (value - mean) ** 2;
  return { mean, factor: 1 / Math.sqrt(squares / width + eps) };
}

/** y = (x − mean) · factor · w + b. `absolute`: sums the magnitudes of both terms instead, for tolerances. */
function normalise(
  { x, w, b }: Record<'x' | 'w' | 'b', Numbers>,
  eps: number,
  y: Numbers,
  absolute: boolean,
): void {
  const width = lastDim(x.shape);
  for (let row = 0; row < rowCount(x.shape); row++) {
    const values = x.data.subarray(row * width, (row + 1) * width);
    const { mean, factor } = rowStatistics(values, width, eps);
    for (let i = 0; i < width; i++) {
      const term = (values[i]! - mean) * factor * w.data[i]!;
      y.data[row * width + i] = absolute ? Math.abs(term) + Math.abs(b.data[i]!) : term + b.data[i]!;
    }
  }
}

const shifted = (operand: SampleOperand, by: number): SampleOperand => ({
  ...operand,
  values: Float32Array.from(operand.values, (value) => value + by),
});

const sample = (name: string, x: SampleOperand, eps = 1e-5) => {
  const width = lastDim(x.shape);
  return { name, operands: { x, w: normal(2, [width]), b: normal(3, [width]) }, attributes: { eps } };
};

export const layerNorm = defineOp({
  name: 'layerNorm',
  doc: '(x − mean(x)) / √(mean((x − mean(x))²) + eps) · w + b over the last dimension: [.., D], [D], [D] → [.., D].',
  source: 'Ba et al. 2016, Layer Normalization, eq. 4',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, w: { kind: 'weight' }, b: { kind: 'weight' } },
  attributes: { eps: 'f32' },
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, w, b }, { eps }) {
    needShape('layerNorm', 'w', w.shape, [lastDim(x.shape)], `last dim of x [${x.shape}]`);
    needShape('layerNorm', 'b', b.shape, w.shape, 'as w');
    needEps('layerNorm', eps);
    return [{ shape: x.shape, dtype: tensorDtype(x) }];
  },
  define: (operands, { eps }, [y]) => normalise(operands, eps, y!, false),
  magnitude: (operands, { eps }, [y]) => normalise(operands, eps, y!, true),
  tolerance: { f32: { absolute: 1e-6, relative: 4e-6 } },
  samples: () => [
    sample('one row', normal(1, [1, 64])),
    sample('odd width', normal(1, [5, 33]), 1e-12),
    sample('per head', normal(1, [3, 4, 16])),
    sample('wide', normal(1, [2, 2048], 30)),
    sample('far from zero', shifted(normal(1, [3, 384]), 500), 1e-12),
    sample('all alike', shifted(zeros([2, 24]), 3)),
    sample('one element', normal(1, [4, 1])),
    sample('empty', zeros([0, 8])),
    {
      name: 'f16 weights',
      operands: { x: normal(1, [3, 40]), w: as('f16', normal(2, [40])), b: as('f16', normal(3, [40])) },
      attributes: { eps: 1e-5 },
    },
    {
      name: 'a NaN stays in its row',
      operands: { x: floats([1, Number.NaN, 2, 3], [2, 2]), w: floats([1, 2]), b: floats([0, 1]) },
      attributes: { eps: 1e-5 },
    },
    {
      name: 'an infinity spoils its row alone',
      operands: { x: floats([1, Infinity, 2, 3], [2, 2]), w: floats([1, 2]), b: floats([0, 1]) },
      attributes: { eps: 1e-5 },
    },
  ],
  errors: () => [
    {
      name: 'w of another width',
      operands: { x: normal(1, [2, 16]), w: normal(2, [15]), b: normal(3, [16]) },
      attributes: { eps: 1e-5 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'b of another width',
      operands: { x: normal(1, [2, 16]), w: normal(2, [16]), b: normal(3, [17]) },
      attributes: { eps: 1e-5 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    { ...sample('negative eps', normal(1, [2, 16]), -1), code: 'BAD_ARGUMENT', when: 'record' },
  ],
});

/** (x − mean) / √(variance + eps) · w + b over the last dimension. */
export function call(x: Tensor, w: Weight, b: Weight, options: { readonly eps: number }): Tensor {
  return record(x, layerNorm, { x, w, b }, { eps: options.eps });
}
