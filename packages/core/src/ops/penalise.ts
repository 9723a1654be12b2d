import { badShape, needRank, needShape, outOfRange } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, ints, normal } from '../testing/samples.js';

export const penalise = defineOp({
  name: 'penalise',
  doc:
    'Lowers the logits of tokens seen before: x [S, V], tokens [S, L] (i32, −1 is padding), strengths [S, 3] (repetition, presence, frequency) → [S, V]. ' +
    'For each token seen n > 0 times: a positive logit is divided by repetition, another is multiplied by repetition; then presence + n · frequency is subtracted.',
  source: 'Keskar et al. 2019, CTRL, §4.1; presence and frequency as in the OpenAI API',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    tokens: { kind: 'tensor', dtypes: ['i32'] },
    strengths: { kind: 'tensor', dtypes: ['f32'] },
  },
  attributes: {},
  inRange: '−1 ≤ tokens[s, i] < V',
  outputs: ['y'],
  accumulation: 'none',
  infer({ x, tokens, strengths }) {
    needRank('penalise', 'x', x, 2, '[S, V]');
    needRank('penalise', 'tokens', tokens, 2, '[S, L]');
    const S = x.shape[0]!;
    if (tokens.shape[0] !== S)
      throw badShape('penalise', `tokens must have ${S} rows (S of x); got [${tokens.shape}]`);
    needShape('penalise', 'strengths', strengths.shape, [S, 3], 'S of x');
    return [{ shape: x.shape, dtype: 'f32' }];
  },
  define({ x, tokens, strengths }, _attributes, [y]) {
    const [S, V] = x.shape as [number, number];
    const L = tokens.shape[1]!;
    y!.data.set(x.data);
    for (let s = 0; s < S; s++) {
      const counts = new Map<number, number>();
      for (let i = 0; i < L; i++) {
        const token = tokens.data[s * L + i]!;
        if (token < -1 || token >= V)
          throw outOfRange('penalise', `tokens[${s}, ${i}] is ${token}, but x has ${V} columns`);
        if (token >= 0) counts.set(token, (counts.get(token) ?? 0) + 1);
      }
      const [repetition, presence, frequency] = [0, 1, 2].map((i) => strengths.data[s * 3 + i]!) as [
        number,
        number,
        number,
      ];
      for (const [token, n] of counts) {
        const logit = x.data[s * V + token]!;
        const repeated = logit > 0 ? logit / repetition : logit * repetition;
        y!.data[s * V + token] = repeated - presence - n * frequency;
      }
    }
  },
  tolerance: { f32: { absolute: 1e-6, relative: 1e-6 } },
  samples: () => [
    {
      name: 'seen once and twice',
      operands: {
        x: normal(1, [2, 11], 3),
        tokens: ints([3, 3, 5, -1, 0, 10], [2, 3]),
        strengths: floats([1.3, 0, 0, 1.1, 0.5, 0.25], [2, 3]),
      },
      attributes: {},
    },
    {
      name: 'none seen',
      operands: { x: normal(2, [1, 5]), tokens: ints([], [1, 0]), strengths: floats([2, 1, 1], [1, 3]) },
      attributes: {},
    },
  ],
  errors: () => [
    {
      name: 'token past the vocabulary',
      operands: { x: normal(3, [1, 5]), tokens: ints([5], [1, 1]), strengths: floats([1, 0, 0], [1, 3]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'strengths for another S',
      operands: {
        x: normal(4, [1, 5]),
        tokens: ints([0], [1, 1]),
        strengths: floats([1, 0, 0, 1, 0, 0], [2, 3]),
      },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** Lowers logits [S, V] of `tokens` [S, L] by `strengths` [S, 3]: repetition, presence, frequency. */
export function call(x: Tensor, tokens: Tensor, strengths: Tensor): Tensor {
  return record(x, penalise, { x, tokens, strengths });
}

export const fill = 'host' satisfies Fill;
