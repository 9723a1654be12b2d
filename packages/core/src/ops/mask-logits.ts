import { needRank, needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { ints, normal } from '../testing/samples.js';

export const maskLogits = defineOp({
  name: 'maskLogits',
  doc: 'Sets the logits with bit 0 to −∞: x [S, V], bits [S, ⌈V/32⌉] (i32, bit v%32 of word v/32) → [S, V]. For constrained decoding.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, bits: { kind: 'tensor', dtypes: ['i32'] } },
  attributes: {},
  outputs: ['y'],
  accumulation: 'none',
  infer({ x, bits }) {
    needRank('maskLogits', 'x', x, 2, '[S, V]');
    const words = Math.ceil(x.shape[1]! / 32);
    needShape('maskLogits', 'bits', bits.shape, [x.shape[0]!, words], `x is [${x.shape}], 32 to a word`);
    return [{ shape: x.shape, dtype: 'f32' }];
  },
  define({ x, bits }, _attributes, [y]) {
    const [S, V] = x.shape as [number, number];
    const words = Math.ceil(V / 32);
    for (let s = 0; s < S; s++)
      for (let v = 0; v < V; v++) {
        const allowed = (bits.data[s * words + (v >>> 5)]! >>> (v & 31)) & 1;
        y!.data[s * V + v] = allowed ? x.data[s * V + v]! : -Infinity;
      }
  },
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [
    {
      name: 'odd vocabulary',
      operands: { x: normal(1, [2, 37]), bits: ints([0x0f0f0f0f, 0x15, -1, 0], [2, 2]) },
      attributes: {},
    },
    { name: 'nothing allowed', operands: { x: normal(2, [1, 8]), bits: ints([0], [1, 1]) }, attributes: {} },
  ],
  errors: () => [
    {
      name: 'too few words',
      operands: { x: normal(3, [1, 33]), bits: ints([0], [1, 1]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** Sets a logit of x [S, V] to −∞ if its bit in `bits` [S, ⌈V/32⌉] is 0. */
export function call(x: Tensor, bits: Tensor): Tensor {
  return record(x, maskLogits, { x, bits });
}

export const fill = 'host' satisfies Fill;
