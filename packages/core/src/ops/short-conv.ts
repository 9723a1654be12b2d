import type { AttentionBatch } from '../kv/batch.js';
import type { KvBuffer } from '../kv/kv-buffer.js';
import { needRank, needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { changed, ints, normal, type SampleOperand, zeros } from '../testing/samples.js';
import type { Weight } from '../weight.js';
import {
  boundsOf,
  needStates,
  placesOf,
  readState,
  sequencesOf,
  stateDoc,
  stateOperands,
  stateRange,
  writeState,
} from './states.js';

type Operands = Record<'x' | 'weight' | 'cuSeqlens' | 'states' | 'state', Numbers> & {
  bias?: Numbers | undefined;
};

/** Calls `put` for each row and channel with the sum of `term(weight, input)` over the last L inputs. */
function convolve(
  operands: Operands,
  term: (w: number, x: number) => number,
  keep: boolean,
  y: Numbers,
): void {
  const { x, weight, bias, state } = operands;
  const [D, L] = weight.shape as [number, number];
  for (const rows of sequencesOf('shortConv', x.shape[0]!, operands)) {
    const past = readState(state, rows); // [L − 1, D]
    const input = (
      t: number,
      c: number, // t counts from the first row of the state
    ) => (t < L - 1 ? past[t * D + c]! : x.data[(rows.first + t - L + 1) * D + c]!);
    for (let t = 0; t < rows.end - rows.first; t++)
      for (let c = 0; c < D; c++) {
        let sum = bias ? term(1, bias.data[c]!) : 0;
        for (let j = 0; j < L; j++) sum += term(weight.data[c * L + j]!, input(t + j, c));
        y.data[(rows.first + t) * D + c] = sum;
      }
    const last = past.map((_, i) => input(rows.end - rows.first + Math.floor(i / D), i % D));
    if (keep) writeState(state, rows, last);
  }
}

interface Choice {
  readonly rows: readonly number[];
  readonly states: readonly number[];
  readonly D?: number;
  readonly L?: number;
  readonly slots?: number;
  readonly bias?: boolean;
  readonly put?: Readonly<Record<number, number>>;
}

const sample = (name: string, { rows, states, D = 40, L = 3, slots = 4, bias = false, put = {} }: Choice) => {
  const bounds = boundsOf(rows);
  return {
    name,
    operands: {
      x: changed(normal(1, [bounds.at(-1)!, D]), put),
      weight: normal(2, [D, L]),
      ...(bias && { bias: normal(3, [D]) }),
      cuSeqlens: ints(bounds),
      states: ints(states, [states.length / 2, 2]),
      state: normal(4, [slots, 1, L - 1, D]) as SampleOperand,
    },
    attributes: {},
  };
};

export const shortConv = defineOp({
  name: 'shortConv',
  doc:
    'Causal convolution of each channel over its last L inputs: x [T, D], weight [D, L] → y[t][c] = bias[c] + Σ_j weight[c][j] · x[t − L + 1 + j][c]. ' +
    `Inputs before the first row are the state: [slots, 1, L − 1, D], the last inputs, oldest first. ${stateDoc}`,
  source: 'Hasani et al. 2025, LFM2; Gu and Dao 2023, Mamba, figure 3',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    weight: { kind: 'weight' },
    bias: { kind: 'weight', optional: true },
    ...stateOperands,
  },
  attributes: {},
  inRange: stateRange,
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, weight, bias, ...batch }) {
    needRank('shortConv', 'x', x, 2, '[T, D]');
    needRank('shortConv', 'weight', weight, 2, '[D, L]');
    const [[, D], [, L]] = [x.shape, weight.shape] as [[number, number], [number, number]];
    needShape('shortConv', 'weight', weight.shape, [D, L], 'D of x');
    if (bias) needShape('shortConv', 'bias', bias.shape, [D], 'D of x');
    needStates('shortConv', batch, [L - 1, D]);
    return [{ shape: x.shape, dtype: 'f32' }];
  },
  define: (operands, _, [y]) => convolve(operands, (w, x) => w * x, true, y!),
  magnitude: (operands, _, [y]) => convolve(operands, (w, x) => Math.abs(w * x), false, y!),
  tolerance: {
    f32: { absolute: 1e-6, relative: 2e-6 },
    f16: { absolute: 1e-6, relative: 2e-6 },
    bf16: { absolute: 1e-6, relative: 2e-6 },
  },
  samples: () => [
    sample('one row each', { rows: [1, 1, 1], states: [2, 2, -1, 0, 1, 3] }),
    sample('rows of several sequences, from zeros and from slots', {
      rows: [5, 1, 2],
      states: [-1, 1, 0, 0, 3, 2],
    }),
    sample('no rows: the state is copied', { rows: [0, 3, 0], states: [1, 2, -1, -1, -1, 0] }),
    sample('four inputs and a bias, many channels', {
      rows: [9, 7],
      states: [0, 0, 1, 2],
      D: 261,
      L: 4,
      bias: true,
    }),
    sample('two inputs', { rows: [3], states: [0, 1], D: 8, L: 2 }),
    sample('a long prompt', { rows: [70], states: [-1, 3], D: 64 }),
    sample('not finite', {
      rows: [4, 2],
      states: [0, 0, 1, 1],
      put: { 0: Number.NaN, 81: Number.POSITIVE_INFINITY },
    }),
    sample('no sequences', { rows: [], states: [] }),
  ],
  errors: () => [
    { ...sample('slot past the buffer', { rows: [1], states: [0, 4] }), code: 'OUT_OF_RANGE', when: 'run' },
    { ...sample('slot below −1', { rows: [1], states: [-2, 0] }), code: 'OUT_OF_RANGE', when: 'run' },
    {
      name: 'rows that end early',
      operands: { ...sample('', { rows: [2], states: [0, 0] }).operands, cuSeqlens: ints([0, 1]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'a state of another length',
      operands: { ...sample('', { rows: [2], states: [0, 0] }).operands, state: zeros([4, 1, 3, 40]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'a weight of other channels',
      operands: { ...sample('', { rows: [2], states: [0, 0] }).operands, weight: normal(2, [41, 3]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/**
 * Causal convolution of each channel: x [T, D], weight [D, L] → [T, D]. Reads and writes the sequences' states, see
 * `AttentionBatch.states`.
 * @param state [slots, 1, L − 1, D]
 */
export function call(
  x: Tensor,
  weight: Weight,
  state: KvBuffer,
  batch: AttentionBatch,
  options: { readonly bias?: Weight | undefined } = {},
): Tensor {
  return record(x, shortConv, { x, weight, bias: options.bias, ...placesOf('shortConv', batch), state });
}

export const fill = 'refuse' satisfies Fill;
