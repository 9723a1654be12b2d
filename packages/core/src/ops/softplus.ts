import { lastDim, needShape, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import type { Weight } from '../weight.js';

/** ln(1 + eˣ), without overflow. */
const softplusOf = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

const weights = { bias: normal(2, [37]), factor: normal(3, [37], 2) };
const far = floats([-200, -30, -12, 12, 30, 200, Infinity, Number.NaN], [2, 4]);

export const softplus = defineOp({
  name: 'softplus',
  doc: 'y = factor · ln(1 + e^(x + bias)) for each row x [.., N]; bias and factor [N] are 0 and 1 where absent.',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    bias: { kind: 'weight', optional: true },
    factor: { kind: 'weight', optional: true },
  },
  attributes: {},
  outputs: ['y'],
  accumulation: 'none',
  infer({ x, bias, factor }) {
    const row = [lastDim(x.shape)];
    if (bias) needShape('softplus', 'bias', bias.shape, row, 'as a row of x');
    if (factor) needShape('softplus', 'factor', factor.shape, row, 'as a row of x');
    return [{ shape: x.shape, dtype: tensorDtype(x) }];
  },
  define({ x, bias, factor }, _attributes, [y]) {
    const N = lastDim(x.shape);
    for (let i = 0; i < x.data.length; i++)
      y!.data[i] = (factor?.data[i % N] ?? 1) * softplusOf(x.data[i]! + (bias?.data[i % N] ?? 0));
  },
  tolerance: { f32: { absolute: 1e-6, relative: 2e-6 } },
  samples: () => [
    { name: 'rows', operands: { x: normal(1, [3, 37], 3) }, attributes: {} },
    { name: 'bias and factor', operands: { x: normal(1, [5, 37], 3), ...weights }, attributes: {} },
    { name: 'a bias alone', operands: { x: normal(4, [37]), bias: weights.bias }, attributes: {} },
    { name: 'empty', operands: { x: zeros([0, 37]), ...weights }, attributes: {} },
    { name: 'far from zero', operands: { x: far }, attributes: {} },
  ],
  errors: () => [
    {
      name: 'a bias of another width',
      operands: { x: normal(1, [2, 36]), bias: weights.bias },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** factor · ln(1 + e^(x + bias)) for each row x [.., N]; bias and factor [N] are 0 and 1 where absent. */
export function call(
  x: Tensor,
  options: { readonly bias?: Weight | undefined; readonly factor?: Weight | undefined } = {},
): Tensor {
  return record(x, softplus, { x, ...options });
}

export const fill = 'refuse' satisfies Fill;
