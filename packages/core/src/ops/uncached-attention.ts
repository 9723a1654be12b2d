import type { AttnConfig } from '../attention-config.js';
import type { UncachedBatch } from '../kv/batch.js';
import { badShape, needRank, needShape, outOfRange } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { changed, ints, normal } from '../testing/samples.js';
import {
  type AttentionAttributes,
  attend,
  attentionAttributes,
  needAttentionAttributes,
  scoreRounding,
} from './attention.js';
import { configuredAttributes, needConfigured } from './configured.js';

type Operands = Record<'q' | 'k' | 'v' | 'cuSeqlens' | 'cuKeys', Numbers>;

/** Throws OUT_OF_RANGE unless the bounds rise from 0 to `rows`. */
function checkBounds(name: string, { data }: Numbers, rows: number, of: string): void {
  const last = data[data.length - 1];
  if (data[0] !== 0 || last !== rows || data.some((bound, s) => s > 0 && bound < data[s - 1]!))
    throw outOfRange(
      'uncachedAttention',
      `${name} must rise from 0 to ${rows} (rows of ${of}); got [${data}]`,
    );
}

function checkBatch({ q, k, cuSeqlens, cuKeys }: Operands, { causal, window }: AttentionAttributes): void {
  checkBounds('cuSeqlens', cuSeqlens, q.shape[0]!, 'q');
  checkBounds('cuKeys', cuKeys, k.shape[0]!, 'k');
  for (let s = 0; s + 1 < cuSeqlens.data.length; s++) {
    const rows = cuSeqlens.data[s + 1]! - cuSeqlens.data[s]!;
    const keys = cuKeys.data[s + 1]! - cuKeys.data[s]!;
    if (keys < (causal || window > 0 ? rows : Math.min(rows, 1)))
      throw outOfRange(
        'uncachedAttention',
        `sequence ${s} has ${rows} rows and ${keys} keys; ` +
          (causal || window > 0 ? 'rows with positions need as many keys' : 'rows need a key to look at'),
      );
  }
}

/** The same attention over a cache with one token per block: block i is row i of k and v. */
function overCache({ q, k, v, cuSeqlens, cuKeys }: Operands): Parameters<typeof attend>[0] {
  const [Tk, Hk, d] = k.shape as [number, number, number];
  const S = cuKeys.data.length - 1;
  const lengths = Array.from({ length: S }, (_, s) => cuKeys.data[s + 1]! - cuKeys.data[s]!);
  const B = Math.max(1, ...lengths);
  const table = Int32Array.from({ length: S * B }, (_, i) => cuKeys.data[Math.floor(i / B)]! + (i % B));
  const shape = [Tk, 1, Hk, d];
  return {
    q,
    kCache: { shape, data: k.data },
    vCache: { shape, data: v.data },
    cuSeqlens,
    kvLengths: { shape: [S], data: Int32Array.from(lengths) },
    blockTable: { shape: [S, B], data: table },
  };
}

function attendUncached(operands: Operands, attrs: AttentionAttributes, y: Numbers, absolute: boolean): void {
  checkBatch(operands, attrs);
  attend(overCache(operands), attrs, y, absolute);
}

interface Case {
  readonly name: string;
  readonly heads?: readonly [H: number, Hk: number, d: number];
  /** Rows and keys of each sequence. */
  readonly sequences: readonly (readonly [rows: number, keys: number])[];
  readonly attrs?: Partial<AttentionAttributes>;
  /** Values that replace others, by index. */
  readonly put?: Readonly<Partial<Record<'q' | 'k' | 'v', Readonly<Record<number, number>>>>>;
}

const bounds = (lengths: readonly number[]): number[] => {
  const sums = [0];
  for (const length of lengths) sums.push(sums[sums.length - 1]! + length);
  return sums;
};

function sample({ name, heads: [H, Hk, d] = [4, 2, 16], sequences, attrs, put = {} }: Case) {
  const cuSeqlens = bounds(sequences.map(([rows]) => rows));
  const cuKeys = bounds(sequences.map(([, keys]) => keys));
  return {
    name,
    operands: {
      q: changed(normal(d, [cuSeqlens[sequences.length]!, H, d]), put.q),
      k: changed(normal(1, [cuKeys[sequences.length]!, Hk, d]), put.k),
      v: changed(normal(2, [cuKeys[sequences.length]!, Hk, d]), put.v),
      cuSeqlens: ints(cuSeqlens),
      cuKeys: ints(cuKeys),
    },
    attributes: { scale: 1 / Math.sqrt(d), causal: 0, window: 0, softCap: 0, bf16: 0, ...attrs },
  };
}

/** Element 3 of key 5, in head 0 of two of 16 elements. */
const key5 = 5 * 2 * 16 + 3;

/** What is not a number stays in the rows and heads that see it, and in its sequence. */
const notFinite = () =>
  [6, 40].flatMap((rows) => {
    const sequences = [
      [rows, rows],
      [2, 2],
    ] as const;
    const causal = { causal: 1 };
    return [
      sample({ name: `a NaN key, ${rows} rows`, sequences, put: { k: { [key5]: Number.NaN } } }),
      sample({
        name: `causal: a NaN key, ${rows} rows`,
        sequences,
        attrs: causal,
        put: { k: { [key5]: Number.NaN } },
      }),
      sample({ name: `a NaN value, ${rows} rows`, sequences, put: { v: { [key5]: Number.NaN } } }),
      sample({
        name: `causal: an infinite key, ${rows} rows`,
        sequences,
        attrs: causal,
        put: { k: { [key5]: Infinity } },
      }),
      sample({
        name: `in bf16: a NaN key and a NaN value, ${rows} rows`,
        sequences,
        attrs: { bf16: 1 },
        put: { k: { [key5]: Number.NaN }, v: { [key5 + 16]: Number.NaN } },
      }),
    ];
  });

const three = { name: 'three rows', sequences: [[3, 3]] } as const;

export const uncachedAttention = defineOp({
  name: 'uncachedAttention',
  doc:
    'softmax(q · Kᵀ · scale) · V over keys and values of the same step, for encoders and cross attention: q [T, H, d], k and v [Tk, Hk, d] → [T, H, d]. The batch is ragged: ' +
    'rows cuSeqlens[s] to cuSeqlens[s+1] of q see rows cuKeys[s] to cuKeys[s+1] of k. All else as for attention; with causal or window, the rows of q are at the positions of the last keys. With bf16 = 1 the kernel may round q, k, v and the softmax weights to bf16.',
  source: 'Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 (GQA)',
  operands: {
    q: { kind: 'tensor', dtypes: ['f32'] },
    k: { kind: 'tensor', dtypes: ['f32'] },
    v: { kind: 'tensor', dtypes: ['f32'] },
    cuSeqlens: { kind: 'tensor', dtypes: ['i32'] },
    cuKeys: { kind: 'tensor', dtypes: ['i32'] },
  },
  attributes: attentionAttributes,
  inRange:
    'cuSeqlens runs from 0 to T and cuKeys from 0 to Tk, and neither falls; a sequence with rows has a key, and with causal or window at least as many keys as rows',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ q, k, v, cuSeqlens, cuKeys }, attrs) {
    needRank('uncachedAttention', 'q', q, 3, '[T, H, d]');
    needRank('uncachedAttention', 'k', k, 3, '[Tk, Hk, d]');
    needRank('uncachedAttention', 'cuSeqlens', cuSeqlens, 1, '[S + 1]');
    needShape('uncachedAttention', 'v', v.shape, k.shape, 'as k');
    needShape('uncachedAttention', 'cuKeys', cuKeys.shape, cuSeqlens.shape, 'as cuSeqlens');
    if (cuSeqlens.shape[0] === 0)
      throw badShape('uncachedAttention', 'cuSeqlens must have S + 1 entries; got 0');
    const [, H, d] = q.shape as [number, number, number];
    const [, Hk, dk] = k.shape as [number, number, number];
    if (d !== dk || Hk === 0 || H % Hk !== 0)
      throw badShape(
        'uncachedAttention',
        `the ${H} heads of q must be a multiple of k's, and of their size ${d}; k has ${Hk} of ${dk}`,
      );
    needAttentionAttributes('uncachedAttention', attrs);
    return [{ shape: q.shape, dtype: 'f32' }];
  },
  define: (operands, attrs, [y]) => attendUncached(operands, attrs, y!, false),
  magnitude: (operands, attrs, [y]) => attendUncached(operands, attrs, y!, true),
  rounding: (operands, attrs, [y]) => scoreRounding(overCache(operands), attrs, y!),
  tolerance: { f32: { absolute: 1e-6, relative: 2e-5 } },
  samples: () => [
    sample(three),
    sample({ name: 'one row alone', sequences: [[1, 1]] }),
    sample({
      name: 'ragged',
      sequences: [
        [7, 7],
        [1, 1],
        [40, 40],
        [2, 2],
      ],
    }),
    sample({
      name: 'cross attention: fewer and more rows than keys',
      sequences: [
        [2, 21],
        [9, 4],
      ],
    }),
    sample({
      name: 'sequences without rows, and without rows and keys',
      sequences: [
        [0, 6],
        [0, 0],
        [3, 5],
      ],
    }),
    sample({ name: 'more rows than a kernel takes at once', heads: [2, 1, 8], sequences: [[260, 260]] }),
    sample({ name: 'every head its own keys', heads: [3, 3, 32], sequences: [[19, 19]] }),
    sample({ name: 'odd head size', heads: [2, 2, 13], sequences: [[5, 18]] }),
    sample({
      name: 'causal',
      sequences: [
        [5, 5],
        [2, 9],
      ],
      attrs: { causal: 1 },
    }),
    sample({ name: 'sliding window', sequences: [[6, 20]], attrs: { causal: 1, window: 5 } }),
    sample({ name: 'soft cap', sequences: [[4, 12]], attrs: { softCap: 3, scale: 2 } }),
    sample({
      name: 'in bf16',
      heads: [2, 2, 32],
      sequences: [
        [40, 40],
        [3, 3],
        [19, 5],
      ],
      attrs: { bf16: 1 },
    }),
    sample({ name: 'in bf16: odd sizes', heads: [6, 2, 13], sequences: [[35, 300]], attrs: { bf16: 1 } }),
    sample({ name: 'in bf16: causal', sequences: [[20, 20]], attrs: { bf16: 1, causal: 1 } }),
    sample({ name: '24 rows, d 64', heads: [2, 2, 64], sequences: [[24, 24]] }),
    sample({
      name: '24 rows, d 128, large scores',
      heads: [2, 1, 128],
      sequences: [[24, 24]],
      attrs: { scale: 0.7 },
    }),
    ...notFinite(),
    sample({ name: 'no sequences', sequences: [] }),
  ],
  errors: () => [
    {
      ...sample({ ...three, name: 'row bounds that miss rows' }),
      operands: { ...sample(three).operands, cuSeqlens: ints([0, 2]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...three, name: 'key bounds past the keys' }),
      operands: { ...sample(three).operands, cuKeys: ints([0, 4]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...three, name: 'bounds that fall' }),
      operands: { ...sample(three).operands, cuSeqlens: ints([0, 4, 3]), cuKeys: ints([0, 1, 3]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...three, name: 'row bounds that do not begin at 0' }),
      operands: { ...sample(three).operands, cuSeqlens: ints([1, 3]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...three, name: 'key bounds that do not begin at 0' }),
      operands: { ...sample(three).operands, cuKeys: ints([-1, 3]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    { ...sample({ name: 'rows without keys', sequences: [[2, 0]] }), code: 'OUT_OF_RANGE', when: 'run' },
    {
      ...sample({ name: 'causal rows with too few keys', sequences: [[3, 2]], attrs: { causal: 1 } }),
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...three, name: "heads no multiple of k's" }),
      operands: { ...sample(three).operands, q: normal(1, [3, 3, 16]) },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      ...sample({ ...three, name: 'values unlike keys' }),
      operands: { ...sample(three).operands, v: normal(1, [2, 2, 16]) },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      ...sample({ ...three, name: 'negative window', attrs: { window: -1 } }),
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});

/** Attention of q [T, H, d] over k and v [Tk, Hk, d] of this step: encoders and cross attention. → [T, H, d]. */
export function call(q: Tensor, k: Tensor, v: Tensor, batch: UncachedBatch, config: AttnConfig): Tensor {
  needConfigured('uncachedAttention', q, k.shape[1], 'k', k.shape, config);
  const { cuSeqlens, cuKeys = cuSeqlens } = batch;
  return record(q, uncachedAttention, { q, k, v, cuSeqlens, cuKeys }, configuredAttributes(config));
}
