import type { AttentionBatch } from '../kv/batch.js';
import type { KvBuffer } from '../kv/kv-buffer.js';
import { badShape, needRank, needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { changed, ints, normal, type SampleOperand, zeros } from '../testing/samples.js';
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

type Operands = Record<'q' | 'k' | 'v' | 'decay' | 'beta' | 'cuSeqlens' | 'states' | 'state', Numbers>;

interface Attributes {
  readonly scale: number;
  /** 0: value head h belongs to key head ⌊h / (Hv / Hk)⌋; 1: to h mod Hk. */
  readonly tiled: number;
}

/** The state of one head, [dk, dv], after one more row; fills y [dv]. */
function advance(
  S: Float64Array,
  { q, k, v, decay, beta }: Record<'q' | 'k' | 'v', Float64Array> & { decay: number; beta: number },
  y: Float64Array,
): void {
  const dv = v.length;
  const a = Math.exp(decay);
  for (let i = 0; i < S.length; i++) S[i]! *= a;
  for (let j = 0; j < dv; j++) {
    let recalled = 0;
    for (let i = 0; i < k.length; i++) recalled += k[i]! * S[i * dv + j]!;
    const change = beta * (v[j]! - recalled);
    let sum = 0;
    for (let i = 0; i < k.length; i++) {
      S[i * dv + j]! += k[i]! * change;
      sum += q[i]! * S[i * dv + j]!;
    }
    y[j] = sum;
  }
}

const headOf = ({ data, shape }: Numbers, t: number, h: number): Float64Array => {
  const [, H, d] = shape as [number, number, number];
  return Float64Array.from({ length: d }, (_, i) => data[(t * H + h) * d + i]!);
};

function scan(operands: Operands, { scale, tiled }: Attributes, y: Numbers): void {
  const { q, k, v, decay, beta, state } = operands;
  const [[T, Hk, dk], [, Hv, dv]] = [q.shape, v.shape] as [
    [number, number, number],
    [number, number, number],
  ];
  const keyHead = (h: number) => (tiled ? h % Hk : Math.floor(h / (Hv / Hk)));
  const out = new Float64Array(dv);
  for (const rows of sequencesOf('gatedDelta', T, operands)) {
    const all = readState(state, rows); // [Hv, dk, dv]
    for (let t = rows.first; t < rows.end; t++)
      for (let h = 0; h < Hv; h++) {
        const S = all.subarray(h * dk * dv, (h + 1) * dk * dv);
        const [at, g] = [t * Hv + h, keyHead(h)];
        const row = { q: headOf(q, t, g), k: headOf(k, t, g), v: headOf(v, t, h) };
        advance(S, { ...row, decay: decay.data[at]!, beta: beta.data[at]! }, out);
        for (let j = 0; j < dv; j++) y.data[at * dv + j] = scale * out[j]!;
      }
    writeState(state, rows, all);
  }
}

interface Choice {
  readonly rows: readonly number[];
  readonly states: readonly number[];
  readonly Hk?: number;
  readonly Hv?: number;
  readonly dk?: number;
  readonly dv?: number;
  readonly tiled?: 0 | 1;
  readonly slots?: number;
  /** Mean of −decay. */
  readonly forgets?: number;
  readonly put?: Readonly<Record<number, number>>;
}

/** Keys of about length 1, as models have them: a longer key makes the state grow without bound. */
const sample = (
  name: string,
  { rows, states, Hk = 2, Hv = 4, dk = 16, dv = 16, tiled = 0, slots = 4, forgets = 0.3, put = {} }: Choice,
) => {
  const bounds = boundsOf(rows);
  const T = bounds.at(-1)!;
  const each = (operand: SampleOperand, f: (x: number) => number): SampleOperand => ({
    ...operand,
    values: Float32Array.from(operand.values as Float32Array, f),
  });
  return {
    name,
    operands: {
      q: normal(1, [T, Hk, dk], 1 / Math.sqrt(dk)),
      k: normal(2, [T, Hk, dk], 0.9 / Math.sqrt(dk)),
      v: changed(normal(3, [T, Hv, dv]), put),
      decay: each(normal(4, [T, Hv]), (x) => -forgets * Math.abs(x)),
      beta: each(normal(5, [T, Hv]), (x) => 1 / (1 + Math.exp(-x))),
      cuSeqlens: ints(bounds),
      states: ints(states, [states.length / 2, 2]),
      state: normal(6, [slots, 1, Hv, dk * dv]),
    },
    attributes: { scale: 0.25, tiled },
  };
};

export const gatedDelta = defineOp({
  name: 'gatedDelta',
  doc:
    'The gated delta rule: q and k [T, Hk, dk], v [T, Hv, dv], decay and beta [T, Hv] → y [T, Hv, dv]. Each value head has a state S [dk, dv]. Row by row: ' +
    'S ← e^decay · S; S ← S + k · (beta · (v − Sᵀ · k))ᵀ; y = scale · Sᵀ · q. Value head h takes q and k of head ⌊h / (Hv / Hk)⌋, or h mod Hk if tiled = 1. ' +
    `\`state\`: [slots, 1, Hv, dk · dv]. ${stateDoc}`,
  source: 'Yang et al. 2024, arXiv 2412.06464, equation 10',
  operands: {
    q: { kind: 'tensor', dtypes: ['f32'] },
    k: { kind: 'tensor', dtypes: ['f32'] },
    v: { kind: 'tensor', dtypes: ['f32'] },
    decay: { kind: 'tensor', dtypes: ['f32'] },
    beta: { kind: 'tensor', dtypes: ['f32'] },
    ...stateOperands,
  },
  attributes: { scale: 'f32', tiled: 'i32' },
  inRange: stateRange,
  outputs: ['y'],
  accumulation: 'f32',
  infer({ q, k, v, decay, beta, ...batch }, { tiled }) {
    needRank('gatedDelta', 'q', q, 3, '[T, Hk, dk]');
    needShape('gatedDelta', 'k', k.shape, q.shape, 'as q');
    needRank('gatedDelta', 'v', v, 3, '[T, Hv, dv]');
    const [[T, Hk, dk], [, Hv, dv]] = [q.shape, v.shape] as [
      [number, number, number],
      [number, number, number],
    ];
    needShape('gatedDelta', 'v', v.shape, [T, Hv, dv], 'T of q');
    if (Hk === 0 || Hv % Hk !== 0)
      throw badShape('gatedDelta', `v must have a multiple of q's ${Hk} heads; got ${Hv}`);
    if (tiled !== 0 && tiled !== 1) throw badShape('gatedDelta', `tiled must be 0 or 1; got ${tiled}`);
    needShape('gatedDelta', 'decay', decay.shape, [T, Hv], 'T and heads of v');
    needShape('gatedDelta', 'beta', beta.shape, [T, Hv], 'T and heads of v');
    needStates('gatedDelta', batch, [Hv, dk * dv]);
    return [{ shape: v.shape, dtype: 'f32' }];
  },
  define: (operands, attributes, [y]) => scan(operands, attributes, y!),
  tolerance: { f32: { absolute: 2e-5, relative: 2e-5 } },
  samples: () => [
    sample('one row each', { rows: [1, 1, 1], states: [2, 2, -1, 0, 1, 3] }),
    sample('rows of several sequences', { rows: [5, 1, 2], states: [-1, 1, 0, 0, 3, 2] }),
    sample('value heads in turns', { rows: [3, 2], states: [0, 1, 2, 2], Hk: 3, Hv: 6, tiled: 1 }),
    sample('no rows: the state is copied', { rows: [0, 3, 0], states: [1, 2, -1, -1, -1, 0] }),
    sample('a long prompt, from zeros and from a state', { rows: [150, 67], states: [-1, 0, 3, 1] }),
    sample('heads of 128', { rows: [9], states: [1, 1], Hk: 1, Hv: 2, dk: 128, dv: 128, slots: 2 }),
    sample('a prompt with heads of 128', {
      rows: [130],
      states: [0, 1],
      Hk: 1,
      Hv: 1,
      dk: 128,
      dv: 128,
      slots: 2,
    }),
    sample('heads of other widths', { rows: [70, 3], states: [0, 0, 1, 1], Hk: 1, Hv: 3, dk: 24, dv: 40 }),
    sample('forgets at once', { rows: [66, 1], states: [0, 0, 1, 1], forgets: 60 }),
    sample('not finite', { rows: [2, 2], states: [0, 0, 1, 1], put: { 0: Number.NaN } }),
    sample('no sequences', { rows: [], states: [] }),
  ],
  errors: () => [
    { ...sample('slot past the buffer', { rows: [1], states: [0, 4] }), code: 'OUT_OF_RANGE', when: 'run' },
    {
      name: 'rows that end early',
      operands: { ...sample('', { rows: [2], states: [0, 0] }).operands, cuSeqlens: ints([0, 1]) },
      attributes: { scale: 1, tiled: 0 },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'heads that do not divide',
      operands: sample('', { rows: [2], states: [0, 0], Hk: 3, Hv: 4 }).operands,
      attributes: { scale: 1, tiled: 0 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'a state of another width',
      operands: { ...sample('', { rows: [2], states: [0, 0] }).operands, state: zeros([4, 1, 4, 16]) },
      attributes: { scale: 1, tiled: 0 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/**
 * The gated delta rule (arXiv 2412.06464): q and k [T, Hk, dk], v [T, Hv, dv], decay and beta [T, Hv] → [T, Hv, dv].
 * Reads and writes the sequences' states, see `AttentionBatch.states`.
 * @param state [slots, 1, Hv, dk · dv]
 */
export function call(
  heads: { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor },
  gates: { readonly decay: Tensor; readonly beta: Tensor },
  state: KvBuffer,
  batch: AttentionBatch,
  options: { readonly scale: number; readonly tiled?: boolean },
): Tensor {
  const { q, k, v } = heads;
  const { decay, beta } = gates;
  const operands = { q, k, v, decay, beta, ...placesOf('gatedDelta', batch), state };
  return record(q, gatedDelta, operands, { scale: options.scale, tiled: options.tiled ? 1 : 0 });
}

export const fill = 'refuse' satisfies Fill;
