import { badShape, needRank, needShape, rowCount } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { mapped, type Numbers } from '../op/numbers.js';
import { expertLinear } from '../ops/expert-linear.js';
import { linearTolerance } from '../ops/linear.js';
import { weightedSum } from '../ops/weighted-sum.js';
import { as, floats, integers, ints, normal, type SampleOperand } from '../testing/samples.js';

interface Operands {
  readonly base: Numbers;
  readonly x: Numbers;
  readonly a: Numbers;
  readonly b: Numbers;
  readonly ids: Numbers;
  readonly scales: Numbers;
}

const zeros = (...shape: number[]): Numbers => ({
  shape,
  data: new Float64Array(shape.reduce((n, d) => n * d, 1)),
});
const absolute = ({ shape, data }: Numbers): Numbers => ({ shape, data: mapped(data, Math.abs) });

/** base + Σ_j scales_j · b(a(x)), by the products `times`. */
function change(
  { base, x, a, b, ids, scales }: Operands,
  times: NonNullable<typeof expertLinear.magnitude>,
  y: Numbers,
): void {
  const [T, k] = ids.shape as [number, number];
  const [, N, R] = b.shape as [number, number, number];
  const [low, high] = [zeros(T, k, R), zeros(T * k, 1, N)];
  times({ x, w: a, ids }, {}, [low]);
  const [rows, places] = [
    { shape: [T * k, R], data: low.data },
    { shape: [T * k, 1], data: ids.data },
  ];
  times({ x: rows, w: b, ids: places }, {}, [high]);
  weightedSum.define({ x: { shape: [T, k, N], data: high.data }, weights: scales }, {}, [y]);
  for (let i = 0; i < base.data.length; i++) y.data[i] = y.data[i]! + base.data[i]!;
}

interface Sizes {
  readonly T: number;
  readonly K: number;
  readonly N: number;
  readonly R: number;
  /** Pairs of the stacks. */
  readonly E: number;
  /** Pairs per row. */
  readonly k: number;
}

/** Operands of random pairs, in `format`. Half of the factors are 0. */
export function lowRankOperands(
  seed: number,
  { T, K, N, R, E, k }: Sizes,
  format: SampleOperand['format'] = 'f32',
) {
  const scales = normal(seed + 4, [T, k]);
  return {
    base: normal(seed, [T, N]),
    x: normal(seed + 1, [T, K]),
    a: as(format, normal(seed + 2, [E, R, K], 1 / Math.sqrt(K))),
    b: as(format, normal(seed + 3, [E, N, R])),
    ids: integers(seed + 5, [T, k], E),
    scales: { ...scales, values: Float32Array.from(scales.values, (value) => Math.max(0, value)) },
  };
}

const sample = (name: string, seed: number, sizes: Sizes, format?: SampleOperand['format']) => ({
  name,
  operands: lowRankOperands(seed, sizes, format),
  attributes: {},
});

export const addLowRank = defineOp({
  name: 'addLowRank',
  doc: 'Changes of low rank, chosen by row: base[t] + Σ over j of scales[t, j] · b[e] · a[e] · x[t], e = ids[t, j]: [T, N], [T, K], [E, R, K], [E, N, R], [T, k] twice → [T, N]. A kernel may leave out terms with the factor 0.',
  source: 'Hu et al. 2021, LoRA, eq. 3',
  operands: {
    base: { kind: 'tensor', dtypes: ['f32'] },
    x: { kind: 'tensor', dtypes: ['f32'] },
    a: { kind: 'weight' },
    b: { kind: 'weight' },
    ids: { kind: 'tensor', dtypes: ['i32'] },
    scales: { kind: 'tensor', dtypes: ['f32'] },
  },
  attributes: {},
  replaces:
    '`add(base, weightedSum(expertLinear(expertLinear(x, a, ids), b, ids), scales))`, where no product has another reader',
  inRange: '0 ≤ ids[t, j] < E',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ base, x, a, b, ids, scales }) {
    const low = expertLinear.infer({ x, w: a, ids }, {})[0]!;
    const [T, k, R] = low.shape as [number, number, number];
    needRank('addLowRank', 'b', b, 3, '[E, N, R]');
    const [E, N, width] = b.shape as [number, number, number];
    if (E !== a.shape[0] || width !== R)
      throw badShape(
        'addLowRank',
        `b must have shape [${a.shape[0]}, N, ${R}] (a is [E, R, K]); got [${b.shape}]`,
      );
    needShape('addLowRank', 'base', base.shape, [T, N], 'x is [T, K], b is [E, N, R]');
    needShape('addLowRank', 'scales', scales.shape, [T, k], 'as ids');
    return [{ shape: [rowCount(x.shape), N], dtype: 'f32' }];
  },
  define: (operands, _attributes, [y]) => change(operands, expertLinear.define, y!),
  magnitude({ base, scales, ...others }, _attributes, [y]) {
    change({ ...others, base: absolute(base), scales: absolute(scales) }, expertLinear.magnitude!, y!);
  },
  tolerance: linearTolerance,
  samples: () => [
    sample('one row', 100, { T: 1, K: 64, N: 48, R: 16, E: 3, k: 1 }),
    sample('odd sizes, two per row', 110, { T: 7, K: 33, N: 19, R: 5, E: 4, k: 2 }),
    sample('many rows', 120, { T: 90, K: 48, N: 35, R: 8, E: 3, k: 1 }),
    sample('no rows', 130, { T: 0, K: 16, N: 8, R: 4, E: 2, k: 1 }),
    sample('f16', 140, { T: 20, K: 32, N: 300, R: 16, E: 4, k: 1 }, 'f16'),
    sample('bf16', 150, { T: 5, K: 96, N: 40, R: 24, E: 4, k: 2 }, 'bf16'),
    {
      name: 'no factor but 0',
      operands: {
        ...lowRankOperands(160, { T: 2, K: 16, N: 8, R: 4, E: 2, k: 1 }),
        scales: normal(165, [2, 1], 0),
      },
      attributes: {},
    },
    {
      name: 'one pair twice in a row',
      operands: {
        ...lowRankOperands(170, { T: 1, K: 16, N: 8, R: 4, E: 3, k: 2 }),
        ids: ints([2, 2], [1, 2]),
      },
      attributes: {},
    },
  ],
  errors: () => [
    ...([3, -1] as const).map((id) => ({
      name: `id ${id} of 3 pairs`,
      operands: {
        ...lowRankOperands(180, { T: 1, K: 16, N: 8, R: 4, E: 3, k: 1 }),
        ids: ints([id], [1, 1]),
        scales: floats([1], [1, 1]),
      },
      attributes: {},
      code: 'OUT_OF_RANGE' as const,
      when: 'run' as const,
    })),
  ],
});
