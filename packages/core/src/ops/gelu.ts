import { badArgument, tensorDtype } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, zeros } from '../testing/samples.js';
import { map } from './elementwise.js';

/** Values of gelu's `form` attribute. */
export const geluForms = { erf: 0, tanh: 1 } as const;
export type GeluForm = keyof typeof geluForms;

/**
 * erf to double precision: its Taylor series near zero, the continued fraction of erfc elsewhere
 * (Abramowitz & Stegun 7.1.6 and 7.1.14).
 */
function erf(x: number): number {
  const a = Math.abs(x);
  if (Number.isNaN(x)) return x;
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    let term = a;
    let sum = a;
    for (let n = 1; Math.abs(term) > 1e-18; n++) {
      term *= (2 * a * a) / (2 * n + 1);
      sum += term;
    }
    return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * Math.exp(-a * a) * sum;
  }
  let fraction = 0;
  for (let n = 60; n > 0; n--) fraction = n / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / Math.sqrt(Math.PI) / (a + fraction));
}

export const geluErf = (x: number): number => 0.5 * x * (1 + erf(x * Math.SQRT1_2));

export const geluTanh = (x: number): number =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

export const gelu = defineOp({
  name: 'gelu',
  doc: 'Gaussian error linear unit; form 0 is x·Φ(x) through erf, form 1 the tanh approximation.',
  source: 'Hendrycks & Gimpel 2016, Gaussian Error Linear Units',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: { form: 'i32' },
  outputs: ['y'],
  accumulation: 'none',
  infer({ x }, { form }) {
    if (form !== 0 && form !== 1) throw badArgument('gelu', `form must be 0 (erf) or 1 (tanh); got ${form}`);
    return [{ shape: x.shape, dtype: tensorDtype(x) }];
  },
  define: ({ x }, { form }, [y]) => map(x, y!, form === geluForms.erf ? geluErf : geluTanh),
  tolerance: { f32: { absolute: 2e-6, relative: 2e-6 } },
  samples: () => [
    { name: 'erf', operands: { x: normal(1, [3, 37], 2) }, attributes: { form: geluForms.erf } },
    { name: 'tanh', operands: { x: normal(2, [3, 37], 2) }, attributes: { form: geluForms.tanh } },
    {
      name: 'far from zero',
      operands: { x: floats([-40, -9, 9, 40, Number.NaN]) },
      attributes: { form: geluForms.erf },
    },
    { name: 'empty', operands: { x: zeros([0]) }, attributes: { form: geluForms.tanh } },
  ],
  errors: () => [
    {
      name: 'unknown form',
      operands: { x: zeros([4]) },
      attributes: { form: 2 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});

/** Gaussian error linear unit: exact (erf, the default) or its tanh approximation. */
export function call(x: Tensor, options: { readonly form?: GeluForm } = {}): Tensor {
  return record(x, gelu, { x }, { form: geluForms[options.form ?? 'erf'] });
}
