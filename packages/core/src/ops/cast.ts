import type { DType } from '../dtype.js';
import { badArgument } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { as, floats, normal } from '../testing/samples.js';
import { map } from './elementwise.js';

/** Values of cast's `to` attribute. */
export const castTargets = ['f32', 'f16', 'bf16'] as const satisfies readonly DType[];
export type CastTarget = (typeof castTargets)[number];

export const cast = defineOp({
  name: 'cast',
  doc: 'x as another floating dtype, rounded to nearest even; `to` is 0 f32, 1 f16, 2 bf16.',
  operands: { x: { kind: 'tensor', dtypes: castTargets } },
  attributes: { to: 'i32' },
  outputs: ['y'],
  accumulation: 'none',
  infer({ x }, { to }) {
    const dtype = castTargets[to];
    if (!dtype) throw badArgument('cast', `to must be 0 (f32), 1 (f16) or 2 (bf16); got ${to}`);
    return [{ shape: x.shape, dtype }];
  },
  define: ({ x }, _attributes, [y]) => map(x, y!, (v) => v),
  tolerance: {
    f32: { absolute: 0, relative: 0 },
    f16: { absolute: 0, relative: 0 },
    bf16: { absolute: 0, relative: 0 },
  },
  samples: () => [
    { name: 'f32 to f16', operands: { x: normal(1, [3, 19]) }, attributes: { to: 1 } },
    { name: 'f32 to bf16', operands: { x: normal(2, [3, 19]) }, attributes: { to: 2 } },
    { name: 'f16 to f32', operands: { x: as('f16', normal(3, [3, 19])) }, attributes: { to: 0 } },
    { name: 'bf16 to f32', operands: { x: as('bf16', normal(4, [3, 19])) }, attributes: { to: 0 } },
    {
      name: 'the edges of f16',
      operands: {
        x: floats([
          65504,
          65519.9,
          65520,
          -70000,
          5.9e-8,
          2.9e-8,
          6.1e-5,
          Infinity,
          Number.NaN,
          -0,
          1.0004883,
        ]),
      },
      attributes: { to: 1 },
    },
  ],
  errors: () => [
    {
      name: 'unknown target',
      operands: { x: normal(5, [2]) },
      attributes: { to: 9 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});

/** x as another floating dtype, to nearest even. */
export function call(x: Tensor, to: CastTarget): Tensor {
  return record(x, cast, { x }, { to: castTargets.indexOf(to) });
}
