import { defineOp, type Tolerance } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { gelu, geluForms } from '../ops/gelu.js';
import {
  batchInvariantDoc,
  batchInvariantRule,
  inferLinear,
  linear,
  linearTolerance,
  needBatchInvariant,
} from '../ops/linear.js';
import { as, normal, zeros } from '../testing/samples.js';

/** |gelu′| is at most this, in both forms. */
const steepest = 1.13;

const scaled = (y: Numbers, factor: number): void => {
  for (let i = 0; i < y.data.length; i++) y.data[i] = factor * y.data[i]!;
};

/** A product's tolerance and that of gelu. */
const withGelu = ({ absolute, relative }: Tolerance): Tolerance => ({
  absolute: absolute + gelu.tolerance.f32!.absolute,
  relative: relative + gelu.tolerance.f32!.relative,
});

export const biasGelu = defineOp({
  name: 'biasGelu',
  doc: `gelu(x · wᵀ + bias): [T, K], [N, K], [N] → [T, N]; form as for gelu. ${batchInvariantDoc}`,
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, w: { kind: 'weight' }, bias: { kind: 'weight' } },
  attributes: { form: 'i32', ...batchInvariantRule },
  replaces: '`gelu(linear(x, w, bias))`, where the product has no other reader',
  outputs: ['y'],
  accumulation: 'f32',
  infer(operands, attributes) {
    needBatchInvariant('biasGelu', attributes);
    return gelu.infer({ x: inferLinear('biasGelu', operands.x, operands.w, operands.bias) }, attributes);
  },
  define(operands, attributes, [y]) {
    linear.define(operands, attributes, [y!]);
    gelu.define({ x: y! }, attributes, [y!]);
  },
  magnitude(operands, attributes, [y]) {
    linear.magnitude!(operands, attributes, [y!]);
    scaled(y!, steepest);
  },
  rounding(operands, attributes, [y]) {
    linear.rounding!(operands, attributes, [y!]);
    scaled(y!, steepest);
  },
  tolerance: {
    f32: withGelu(linearTolerance.f32),
    f16: withGelu(linearTolerance.f16),
    bf16: withGelu(linearTolerance.bf16),
    quantised: withGelu(linearTolerance.quantised),
  },
  samples: () => [
    {
      name: 'one row',
      operands: { x: normal(1, [1, 64]), w: normal(2, [48, 64], 0.2), bias: normal(3, [48]) },
      attributes: { form: geluForms.erf, batchInvariant: 0 },
    },
    {
      name: 'odd sizes',
      operands: { x: normal(4, [5, 33]), w: normal(5, [19, 33], 0.2), bias: normal(6, [19]) },
      attributes: { form: geluForms.tanh, batchInvariant: 0 },
    },
    {
      name: 'many rows, f16',
      operands: { x: normal(7, [70, 32]), w: as('f16', normal(8, [40, 32], 0.2)), bias: normal(9, [40]) },
      attributes: { form: geluForms.erf, batchInvariant: 0 },
    },
    {
      name: 'batch-invariant, f16',
      operands: { x: normal(12, [3, 32]), w: as('f16', normal(13, [40, 32], 0.2)), bias: normal(14, [40]) },
      attributes: { form: geluForms.erf, batchInvariant: 1 },
    },
    {
      name: 'no rows',
      operands: { x: zeros([0, 32]), w: normal(10, [8, 32]), bias: normal(11, [8]) },
      attributes: { form: geluForms.erf, batchInvariant: 0 },
    },
  ],
  errors: () => [],
});
