import { cacheDtypes } from '../kv/cache-row.js';
import { needRank, needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { defineKvAppend, needCache } from '../ops/kv-append.js';
import { defineRmsNorm } from '../ops/rms-norm.js';
import { defineRope, needRopeTable } from '../ops/rope.js';
import { inCache, ints, normal, zeros } from '../testing/samples.js';

const tensor = { kind: 'tensor', dtypes: ['f32'] } as const;
const norm = { kind: 'weight', optional: true } as const;
const cache = { kind: 'buffer', dtypes: cacheDtypes, written: true } as const;

/** Norm of each head (if there is one), then rotation. */
function normAndRotate(
  x: Numbers,
  w: Numbers | undefined,
  table: Numbers,
  eps: number,
  layout: number,
): Numbers {
  const normed: Numbers = { shape: x.shape, data: Float64Array.from(x.data) };
  if (w) defineRmsNorm(x, w, eps, normed);
  const rotated: Numbers = { shape: x.shape, data: new Float64Array(x.data.length) };
  defineRope(normed, table, layout, rotated);
  return rotated;
}

const sample = (
  name: string,
  layout: number,
  normed: boolean,
  format: (typeof cacheDtypes)[number] = 'f32',
) => ({
  name,
  operands: {
    q: normal(1, [3, 4, 16]),
    k: normal(2, [3, 2, 16]),
    v: normal(3, [3, 2, 16]),
    ...(normed && { qNorm: normal(4, [16]), kNorm: normal(5, [16]) }),
    table: normal(6, [3, 16]),
    slots: ints([5, -1, 2]),
    kCache: inCache(format, zeros([2, 4, 2, 16])),
    vCache: inCache(format, zeros([2, 4, 2, 16])),
  },
  attributes: { eps: 1e-6, layout },
});

export const qkNormRopeAppend = defineOp({
  name: 'qkNormRopeAppend',
  doc:
    'Head-wise rmsNorm of q [T, H, d] and k [T, Hk, d] (each optional), rotation of both by a ropeTable, and the write of k and v into the cache at slots [T]; ' +
    'output: the rotated q.',
  operands: {
    q: tensor,
    k: tensor,
    v: tensor,
    qNorm: norm,
    kNorm: norm,
    table: tensor,
    slots: { kind: 'tensor', dtypes: ['i32'] },
    kCache: cache,
    vCache: cache,
  },
  attributes: { eps: 'f32', layout: 'i32' },
  inRange: '−1 ≤ slots[t] < blocks · blockSize',
  replaces:
    '`rope(rmsNorm(q))`, `rope(rmsNorm(k))` and `kvAppend`, with both norms or neither, where table, layout and eps are the same, the rotated k has no other reader, and q is what the next attention over this cache reads',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ q, k, v, qNorm, kNorm, table, slots, kCache, vCache }, { layout }) {
    const op = 'qkNormRopeAppend';
    needRopeTable(op, 'q', q, table, layout);
    needRopeTable(op, 'k', k, table, layout);
    needRank(op, 'v', v, 3, '[T, Hk, d]');
    needShape(op, 'v', v.shape, k.shape, 'as k');
    if (qNorm) needShape(op, 'qNorm', qNorm.shape, [q.shape[2]!], 'd of q');
    if (kNorm) needShape(op, 'kNorm', kNorm.shape, [k.shape[2]!], 'd of k');
    needShape(op, 'slots', slots.shape, [k.shape[0]!], 'T of k');
    needCache(op, kCache, vCache, k.shape[1]!, k.shape[2]!);
    return [{ shape: q.shape, dtype: 'f32' }];
  },
  define({ q, k, v, qNorm, kNorm, table, slots, kCache, vCache }, { eps, layout }, [y]) {
    y!.data.set(normAndRotate(q, qNorm, table, eps, layout).data);
    defineKvAppend(normAndRotate(k, kNorm, table, eps, layout), v, slots, kCache, vCache);
  },
  tolerance: {
    f32: { absolute: 2e-6, relative: 8e-6 },
    f16: { absolute: 2e-6, relative: 1e-3 },
    bf16: { absolute: 2e-6, relative: 8e-3 },
    quantised: { absolute: 2e-6, relative: 8e-3 }, // one step is max|x| of the head / 127 (i8), / 14 (E4M3)
  },
  samples: () => [
    sample('interleaved', 0, false),
    sample('halves, normed', 1, true),
    sample('halves, normed, f16 cache', 1, true, 'f16'),
    sample('halves, normed, bf16 cache', 1, true, 'bf16'),
    sample('halves, normed, i8 cache', 1, true, 'i8'),
    sample('halves, normed, E4M3 cache', 1, true, 'u8'),
  ],
  errors: () =>
    [8, -2].map((slot) => {
      const { operands, ...others } = sample(`slot ${slot} of a cache with 8`, 1, true);
      const slots = ints([5, slot, 2]);
      return { ...others, operands: { ...operands, slots }, code: 'OUT_OF_RANGE', when: 'run' };
    }),
});
