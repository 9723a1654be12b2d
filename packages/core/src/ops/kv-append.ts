import { cacheDtypes, cacheRow, putHead } from '../kv/cache-row.js';
import type { KvLayer } from '../kv/kv-cache.js';
import { badShape, needRank, needSameDtype, needShape, outOfRange } from '../op/check.js';
import type { OperandSpec } from '../op/define-op.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { inCache, ints, normal, zeros } from '../testing/samples.js';

/** Shapes: cache buffers [blocks, blockSize, Hk, d] (i8, u8: d + 4, see `cacheRow`), k and v [T, Hk, d], slots [T]. */
export function needCache(
  op: string,
  kCache: OperandSpec,
  vCache: OperandSpec,
  kvHeads: number,
  headDim: number,
): void {
  needRank(op, 'kCache', kCache, 4, '[blocks, blockSize, Hk, d]');
  needShape(op, 'vCache', vCache.shape, kCache.shape, 'as kCache');
  needSameDtype(op, kCache, vCache);
  const width = cacheRow(kCache.dtype, headDim);
  if (kCache.shape[2] !== kvHeads || kCache.shape[3] !== width)
    throw badShape(op, `kCache must have ${kvHeads} kv heads of ${width} elements; got [${kCache.shape}]`);
}

/** Writes row t of k and v into slot slots[t]; −1 skips the row. */
export function defineKvAppend(
  k: Numbers,
  v: Numbers,
  slots: Numbers,
  kCache: Numbers,
  vCache: Numbers,
): void {
  const [blocks, blockSize, heads, width] = kCache.shape as [number, number, number, number];
  const d = k.shape[2]!;
  const put = width === d ? copyHead : putHead.bind(undefined, kCache.dtype!);
  for (let t = 0; t < slots.data.length; t++) {
    const slot = slots.data[t]!;
    if (slot < -1 || slot >= blocks * blockSize)
      throw outOfRange('kvAppend', `slots[${t}] is ${slot}, but the cache has ${blocks * blockSize} slots`);
    if (slot < 0) continue;
    for (let h = 0; h < heads; h++) {
      const [from, at] = [(t * heads + h) * d, (slot * heads + h) * width];
      put(k.data, from, d, kCache.data, at);
      put(v.data, from, d, vCache.data, at);
    }
  }
}

type Data = Numbers['data'];

function copyHead(x: Data, from: number, d: number, cache: Data, at: number): void {
  for (let i = 0; i < d; i++) cache[at + i] = x[from + i]!;
}

const sample = (name: string, format: (typeof cacheDtypes)[number], slots: number[]) => ({
  name,
  operands: {
    k: normal(1, [slots.length, 2, 8]),
    v: normal(2, [slots.length, 2, 8]),
    slots: ints(slots),
    kCache: inCache(format, zeros([3, 4, 2, 8])),
    vCache: inCache(format, zeros([3, 4, 2, 8])),
  },
  attributes: {},
});

export const kvAppend = defineOp({
  name: 'kvAppend',
  doc:
    'Writes keys and values k, v [T, Hk, d] into the cache [blocks, blockSize, Hk, d] at slots [T] (slot = block · blockSize + place; −1 skips the row), ' +
    "rounded to nearest even in the cache's dtype. A cache of i8, or of u8 (bits of E4M3 without infinities), is [blocks, blockSize, Hk, d + 4]: the d elements of a head, then its scale, a little-endian f32, unaligned. " +
    'scale = max|x| / largest, largest = 127 (i8) or 448 (u8); element = x / scale in f32, rounded to nearest even, clamped to ±largest; scale 0: elements 0; a head with NaN or infinity has elements 0 and scale NaN. ' +
    'If a slot occurs twice, the later row wins.',
  operands: {
    k: { kind: 'tensor', dtypes: ['f32'] },
    v: { kind: 'tensor', dtypes: ['f32'] },
    slots: { kind: 'tensor', dtypes: ['i32'] },
    kCache: { kind: 'buffer', dtypes: cacheDtypes, written: true },
    vCache: { kind: 'buffer', dtypes: cacheDtypes, written: true },
  },
  attributes: {},
  inRange: '−1 ≤ slots[t] < blocks · blockSize',
  outputs: [],
  accumulation: 'none',
  infer({ k, v, slots, kCache, vCache }) {
    needRank('kvAppend', 'k', k, 3, '[T, Hk, d]');
    needShape('kvAppend', 'v', v.shape, k.shape, 'as k');
    needShape('kvAppend', 'slots', slots.shape, [k.shape[0]!], 'T of k');
    needCache('kvAppend', kCache, vCache, k.shape[1]!, k.shape[2]!);
    return [];
  },
  define: ({ k, v, slots, kCache, vCache }) => defineKvAppend(k, v, slots, kCache, vCache),
  tolerance: { f32: { absolute: 0, relative: 0 }, f16: { absolute: 0, relative: 0 } },
  samples: () => [
    sample('in order', 'f32', [0, 1, 2]),
    sample('scattered, one skipped', 'f32', [11, -1, 4, 0]),
    sample('rounded to f16', 'f16', [5, 6]),
    sample('rounded to bf16', 'bf16', [5, 6]),
    sample('in steps of a scale', 'i8', [11, -1, 4, 0]),
    sample('E4M3 with a scale', 'u8', [11, -1, 4, 0]),
    sample('no rows', 'f32', []),
  ],
  errors: () => [
    { ...sample('slot past the cache', 'f32', [12]), code: 'OUT_OF_RANGE', when: 'run' },
    { ...sample('slot below −1', 'f32', [-2]), code: 'OUT_OF_RANGE', when: 'run' },
    {
      name: 'cache with other heads',
      operands: {
        ...sample('', 'f32', [0]).operands,
        kCache: zeros([3, 4, 1, 8]),
        vCache: zeros([3, 4, 1, 8]),
      },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'V cache of another shape',
      operands: { ...sample('', 'f32', [0]).operands, vCache: zeros([4, 3, 2, 8]) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
    ...(['i8', 'u8'] as const).map((format) => ({
      name: `${format} cache without scales`,
      operands: {
        ...sample('', 'f32', [0]).operands,
        kCache: zeros([3, 4, 2, 8], format),
        vCache: zeros([3, 4, 2, 8], format),
      },
      attributes: {},
      code: 'BAD_SHAPE' as const,
      when: 'record' as const,
    })),
  ],
});

/** Writes k and v [T, Hk, d] into a cache layer at `slots` [T]. */
export function call(layer: KvLayer, k: Tensor, v: Tensor, slots: Tensor): void {
  record(k, kvAppend, { k, v, slots, kCache: layer.k, vCache: layer.v });
}
