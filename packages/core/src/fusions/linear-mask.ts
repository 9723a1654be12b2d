import { defineOp } from '../op/define-op.js';
import {
  defineLinear,
  inferLinear,
  linearMagnitude,
  linearRounding,
  linearTolerance,
} from '../ops/linear.js';
import { maskLogits } from '../ops/mask-logits.js';
import { as, ints, normal, type SampleOperand } from '../testing/samples.js';

/** A mask of S rows over N columns; `bits` of a row repeat. */
const mask = (rows: readonly (readonly number[])[], N: number): SampleOperand => {
  const words = Math.ceil(N / 32);
  return ints(
    rows.flatMap((bits) => Array.from({ length: words }, (_, i) => bits[i % bits.length]!)),
    [rows.length, words],
  );
};

export const linearMask = defineOp({
  name: 'linearMask',
  doc: 'x · wᵀ, with −∞ where the bit is 0: x [S, K], w [N, K], bits [S, ⌈N/32⌉] as in maskLogits → [S, N]. A kernel need not compute what no row may choose.',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    w: { kind: 'weight' },
    bits: { kind: 'tensor', dtypes: ['i32'] },
  },
  attributes: {},
  replaces:
    '`maskLogits(linear(x, w), bits)`, without bias or batchInvariant, where the logits have no other reader',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, w, bits }) {
    return maskLogits.infer({ x: inferLinear('linearMask', x, w, undefined), bits }, {});
  },
  define({ x, w, bits }, _attributes, [y]) {
    defineLinear(x, w, undefined, y!);
    maskLogits.define({ x: y!, bits }, {}, [y!]);
  },
  magnitude: ({ x, w }, _attributes, [y]) => linearMagnitude(x, w, undefined, y!),
  rounding: ({ x, w }, _attributes, [y]) => linearRounding(x, w, y!),
  tolerance: linearTolerance,
  samples: () => [
    {
      name: 'one row',
      operands: { x: normal(1, [1, 64]), w: normal(2, [131, 64]), bits: mask([[0x0f0f0f0f]], 131) },
      attributes: {},
    },
    {
      name: 'few columns of many',
      operands: {
        x: normal(3, [1, 33]),
        w: as('f16', normal(4, [1000, 33])),
        bits: mask([[0, 0, 0, 0, 0, 0, 0, 0, 5]], 1000),
      },
      attributes: {},
    },
    {
      name: 'rows with other masks',
      operands: {
        x: normal(5, [4, 48]),
        w: as('bf16', normal(6, [389, 48])),
        bits: mask([[-1], [0], [0, 0, 0, 0, 0, 1], [1 << 31, -1, 0x10]], 389),
      },
      attributes: {},
    },
    {
      name: 'nothing allowed',
      operands: { x: normal(7, [2, 16]), w: normal(8, [40, 16]), bits: mask([[0], [0]], 40) },
      attributes: {},
    },
    {
      name: 'many rows',
      operands: {
        x: normal(9, [35, 64]),
        w: normal(10, [70, 64]),
        bits: mask(Array(35).fill([0x77777777]), 70),
      },
      attributes: {},
    },
  ],
  errors: () => [],
});
