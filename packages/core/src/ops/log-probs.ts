import { badShape, needRank, outOfRange } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, ints, normal } from '../testing/samples.js';

export const logProbs = defineOp({
  name: 'logProbs',
  doc:
    'Logarithms of the probabilities of tokens: x [S, V], tokens [S, k] (i32, −1 is padding) → [S, k]. x[s, token] − max − ln Σ e^(x[s] − max); −∞ for padding. ' +
    'A row with NaN or +∞, or of −∞ alone, is NaN.',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    tokens: { kind: 'tensor', dtypes: ['i32'] },
  },
  attributes: {},
  inRange: '−1 ≤ tokens[s, i] < V',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, tokens }) {
    needRank('logProbs', 'x', x, 2, '[S, V]');
    needRank('logProbs', 'tokens', tokens, 2, '[S, k]');
    const S = x.shape[0]!;
    if (tokens.shape[0] !== S)
      throw badShape('logProbs', `tokens must have ${S} rows (S of x); got [${tokens.shape}]`);
    return [{ shape: tokens.shape, dtype: 'f32' }];
  },
  define({ x, tokens }, _attributes, [y]) {
    const [S, V] = x.shape as [number, number];
    const k = tokens.shape[1]!;
    for (let s = 0; s < S; s++) {
      const row = Array.from({ length: V }, (_, v) => x.data[s * V + v]!);
      const max = row.reduce((high, logit) => Math.max(high, logit), Number.NEGATIVE_INFINITY);
      const normaliser = Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - max), 0));
      for (let i = 0; i < k; i++) {
        const token = tokens.data[s * k + i]!;
        if (token < -1 || token >= V)
          throw outOfRange('logProbs', `tokens[${s}, ${i}] is ${token}, but x has ${V} columns`);
        y!.data[s * k + i] = token < 0 ? Number.NEGATIVE_INFINITY : row[token]! - max - normaliser;
      }
    }
  },
  tolerance: { f32: { absolute: 1e-5, relative: 1e-6 } },
  samples: () => [
    {
      name: 'rows',
      operands: { x: normal(1, [3, 37], 4), tokens: ints([0, 36, 5, 5, -1, 7], [3, 2]) },
      attributes: {},
    },
    {
      name: 'many tokens of a row',
      operands: {
        x: normal(6, [2, 70], 3),
        tokens: ints(
          Array.from({ length: 80 }, (_, i) => (i * 29) % 70),
          [2, 40],
        ),
      },
      attributes: {},
    },
    {
      name: 'long rows',
      operands: { x: normal(2, [2, 9001], 3), tokens: ints([9000, 0, 17, 4096], [2, 2]) },
      attributes: {},
    },
    {
      name: 'large values and masked ones',
      operands: {
        x: floats([1000, 999, -1000, 1000, Number.NEGATIVE_INFINITY, 1, 2, Number.NEGATIVE_INFINITY], [2, 4]),
        tokens: ints([0, 1, 2, 0, 1, 2], [2, 3]),
      },
      attributes: {},
    },
    {
      name: 'a NaN spoils its row only',
      operands: { x: floats([1, Number.NaN, 1, 2], [2, 2]), tokens: ints([0, 0], [2, 1]) },
      attributes: {},
    },
    { name: 'no tokens', operands: { x: normal(3, [2, 5]), tokens: ints([], [2, 0]) }, attributes: {} },
  ],
  errors: () => [
    {
      name: 'token past the vocabulary',
      operands: { x: normal(4, [1, 5]), tokens: ints([5], [1, 1]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'tokens for another S',
      operands: { x: normal(5, [1, 5]), tokens: ints([0, 1], [2, 1]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** Logarithms of the probabilities of `tokens` [S, k] (−1: padding, −∞) by logits x [S, V] → [S, k]. */
export function call(x: Tensor, tokens: Tensor): Tensor {
  return record(x, logProbs, { x, tokens });
}

export const fill = 'host' satisfies Fill;
