import { cacheDtypes, cacheNumbers } from '../kv/cache-row.js';
import { badArgument, badShape, needRank, needShape, outOfRange } from '../op/check.js';
import type { Attributes } from '../op/define-op.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { inCache, ints, normal, type SampleOperand } from '../testing/samples.js';
import { needCache } from './kv-append.js';

export const attentionAttributes = {
  scale: 'f32',
  causal: 'i32',
  window: 'i32',
  softCap: 'f32',
  bf16: 'i32',
} as const;
export type AttentionAttributes = Attributes<typeof attentionAttributes>;

/** Throws BAD_ARGUMENT. */
export function needAttentionAttributes(
  op: string,
  { scale, window, softCap, bf16 }: AttentionAttributes,
): void {
  if (!Number.isFinite(scale)) throw badArgument(op, `scale must be finite; got ${scale}`);
  if (window < 0 || softCap < 0)
    throw badArgument(op, `window and softCap must be 0 (off) or more; got ${window} and ${softCap}`);
  if (bf16 !== 0 && bf16 !== 1) throw badArgument(op, `bf16 must be 0 or 1; got ${bf16}`);
}

/** One query row: its sequence, its position there, and its visible keys. */
interface Query {
  readonly position: number;
  readonly firstKey: number;
  readonly endKey: number;
  readonly table: number;
}

/** Rows cuSeqlens[s] … cuSeqlens[s+1] − 1 are the last tokens of sequence s, which has kvLengths[s] tokens in the cache. */
function placeQuery(
  t: number,
  cuSeqlens: Numbers,
  kvLengths: Numbers,
  blocksPerSequence: number,
  attrs: AttentionAttributes,
): Query {
  let s = 0;
  while (cuSeqlens.data[s + 1]! <= t) s++;
  const length = kvLengths.data[s]!;
  const position = length - cuSeqlens.data[s + 1]! + t;
  const endKey = attrs.causal ? position + 1 : length;
  const firstKey = attrs.window > 0 ? Math.max(0, position - attrs.window + 1) : 0;
  return { position, firstKey, endKey, table: s * blocksPerSequence };
}

type Operands = Record<'q' | 'kCache' | 'vCache' | 'cuSeqlens' | 'kvLengths' | 'blockTable', Numbers>;

/** Throws OUT_OF_RANGE if lengths or tables point outside the rows or the cache. */
function checkBatch({ q, kCache, cuSeqlens, kvLengths, blockTable }: Operands): void {
  const [blocks, blockSize] = kCache.shape as [number, number];
  const [S, B] = blockTable.shape as [number, number];
  if (cuSeqlens.data[0] !== 0 || cuSeqlens.data[S] !== q.shape[0])
    throw outOfRange(
      'attention',
      `cuSeqlens must run from 0 to ${q.shape[0]} (rows of q); got ${cuSeqlens.data[0]} to ${cuSeqlens.data[S]}`,
    );
  for (let s = 0; s < S; s++) {
    const [rows, length] = [cuSeqlens.data[s + 1]! - cuSeqlens.data[s]!, kvLengths.data[s]!];
    if (rows < 0 || length < rows || length > B * blockSize)
      throw outOfRange(
        'attention',
        `sequence ${s} has ${rows} rows and ${length} keys; its block table holds ${B * blockSize}`,
      );
    for (let b = 0; b < Math.ceil(length / blockSize); b++) {
      const block = blockTable.data[s * B + b]!;
      if (block < 0 || block >= blocks)
        throw outOfRange(
          'attention',
          `blockTable[${s}, ${b}] is ${block}, but the cache has ${blocks} blocks`,
        );
    }
  }
}

/** Index of a key of the query's sequence in the cache, for query head h. */
function placesOf({ q, kCache, blockTable }: Operands, query: Query, h: number): (key: number) => number {
  const [, blockSize, Hk, width] = kCache.shape as [number, number, number, number];
  const kvHead = Math.floor(h / (q.shape[1]! / Hk));
  return (key) => {
    const block = blockTable.data[query.table + Math.floor(key / blockSize)]!;
    return ((block * blockSize + (key % blockSize)) * Hk + kvHead) * width;
  };
}

/** softmax(q · Kᵀ · scale) · V for one row and head, in double precision; `absolute` sums |V| instead, for tolerances. */
function attendHead(
  operands: Operands,
  attrs: AttentionAttributes,
  query: Query,
  t: number,
  h: number,
  y: Numbers,
  absolute: boolean,
): void {
  const { q, kCache, vCache } = operands;
  const [, H, d] = q.shape as [number, number, number];
  const at = placesOf(operands, query, h);
  const scores = new Float64Array(Math.max(0, query.endKey - query.firstKey));
  for (let j = 0; j < scores.length; j++) {
    const key = at(query.firstKey + j);
    let dot = 0;
    for (let i = 0; i < d; i++) dot += q.data[(t * H + h) * d + i]! * kCache.data[key + i]!;
    const scaled = dot * attrs.scale;
    scores[j] = attrs.softCap > 0 ? attrs.softCap * Math.tanh(scaled / attrs.softCap) : scaled;
  }
  const max = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = scores.map((score) => Math.exp(score - max));
  const sum = weights.reduce((a, b) => a + b, 0);
  for (let i = 0; i < d; i++) {
    let value = 0;
    for (let j = 0; j < weights.length; j++) {
      const v = vCache.data[at(query.firstKey + j) + i]!;
      value += weights[j]! * (absolute ? Math.abs(v) : v);
    }
    y.data[(t * H + h) * d + i] = weights.length ? value / sum : 0;
  }
}

/** Fills y [T, H, d]. A row without a visible key gets zeros. The batch has been checked; caches are numbers. */
export function attend(operands: Operands, attrs: AttentionAttributes, y: Numbers, absolute: boolean): void {
  const [T, H] = operands.q.shape as [number, number];
  for (let t = 0; t < T; t++) {
    const query = placeQuery(t, operands.cuSeqlens, operands.kvLengths, operands.blockTable.shape[1]!, attrs);
    for (let h = 0; h < H; h++) attendHead(operands, attrs, query, t, h, y, absolute);
  }
}

/** The caches as numbers [blocks, blockSize, Hk, d]. */
const withNumbers = (operands: Operands): Operands => ({
  ...operands,
  kCache: cacheNumbers(operands.kCache),
  vCache: cacheNumbers(operands.vCache),
});

/** Rounding to bf16 changes a value by at most this factor. */
const toBf16 = 1 + 2 ** -8;

/** The largest Σ|q·k|·|scale| over the keys of a query. */
function largestScore(operands: Operands, scale: number, query: Query, t: number, h: number): number {
  const { q, kCache } = operands;
  const [, H, d] = q.shape as [number, number, number];
  const at = placesOf(operands, query, h);
  let largest = 0;
  for (let key = query.firstKey; key < query.endKey; key++) {
    const place = at(key);
    let dot = 0;
    for (let i = 0; i < d; i++) dot += Math.abs(q.data[(t * H + h) * d + i]! * kCache.data[place + i]!);
    largest = Math.max(largest, dot * Math.abs(scale));
  }
  return largest;
}

/**
 * Maximum change from rounding q, k, v and the softmax weights to bf16, if allowed. A score moves by e = Σ|q·k|·scale ·
 * 2·2^-8. So each softmax weight, and the sum of the weights, changes by a factor exp(e). Weight and value are rounded
 * too, and the exponential may be.
 */
export function bf16Rounding(given: Operands, attrs: AttentionAttributes, y: Numbers): void {
  if (attrs.bf16 === 0) return;
  const operands = withNumbers(given);
  const { q, cuSeqlens, kvLengths, blockTable } = operands;
  const [T, H, d] = q.shape as [number, number, number];
  attend(operands, attrs, y, true);
  for (let t = 0; t < T; t++) {
    const query = placeQuery(t, cuSeqlens, kvLengths, blockTable.shape[1]!, attrs);
    for (let h = 0; h < H; h++) {
      const moved = largestScore(operands, attrs.scale, query, t, h) * (toBf16 ** 2 - 1);
      const factor = Math.exp(2 * moved) * toBf16 ** 3 - 1;
      for (let i = (t * H + h) * d; i < (t * H + h + 1) * d; i++) y.data[i] = y.data[i]! * factor;
    }
  }
}

function attendCached(operands: Operands, attrs: AttentionAttributes, y: Numbers, absolute: boolean): void {
  checkBatch(operands);
  attend(withNumbers(operands), attrs, y, absolute);
}

interface Case {
  readonly name: string;
  readonly heads?: readonly [H: number, Hk: number, d: number];
  /** Rows and keys of each sequence. */
  readonly sequences: readonly (readonly [rows: number, keys: number])[];
  readonly blockSize: number;
  readonly attrs?: Partial<AttentionAttributes>;
  readonly format?: (typeof cacheDtypes)[number];
}

/** Blocks are assigned in reverse order, to catch a kernel that ignores the table. */
function sample({ name, heads = [4, 2, 16], sequences, blockSize, attrs, format = 'f32' }: Case) {
  const [H, Hk, d] = heads;
  const perSequence = Math.max(1, ...sequences.map(([, keys]) => Math.ceil(keys / blockSize)));
  const blocks = sequences.length * perSequence;
  const rows = sequences.reduce((n, [r]) => n + r, 0);
  const cuSeqlens = [0];
  for (const [r] of sequences) cuSeqlens.push(cuSeqlens[cuSeqlens.length - 1]! + r);
  const table = Array.from({ length: blocks }, (_, i) => blocks - 1 - i);
  const cache = (seed: number): SampleOperand => inCache(format, normal(seed, [blocks, blockSize, Hk, d]));
  return {
    name,
    operands: {
      q: normal(rows + d, [rows, H, d]),
      kCache: cache(1),
      vCache: cache(2),
      cuSeqlens: ints(cuSeqlens),
      kvLengths: ints(sequences.map(([, keys]) => keys)),
      blockTable: ints(table, [sequences.length, perSequence]),
    },
    attributes: { scale: 1 / Math.sqrt(d), causal: 1, window: 0, softCap: 0, bf16: 0, ...attrs },
  };
}

/** The whole cache as one block per sequence. */
const contiguous = { name: 'contiguous', sequences: [[3, 3]], blockSize: 8 } as const;

export const attention = defineOp({
  name: 'attention',
  doc:
    'softmax(q · Kᵀ · scale) · V over a cache: q [T, H, d], cache [blocks, blockSize, Hk, d] → [T, H, d] (i8, u8: head layout of kvAppend). The batch is ragged: rows cuSeqlens[s] to cuSeqlens[s+1] of q are the ' +
    'last tokens of sequence s. The kvLengths[s] keys of sequence s lie in blocks blockTable[s, …]. A contiguous cache is one block per sequence. Query head h reads kv head ⌊h · Hk / H⌋. With n rows and L keys, row i has position p = L − n + i. causal = 1: row i reads keys 0 … p; causal = 0: all L keys; window > 0: no key before p − window + 1. softCap > 0: a score s becomes softCap · tanh(s / softCap). With bf16 = 1 the kernel may round q, k, v and the softmax weights to bf16.',
  source: 'Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 (GQA); Kwon et al. 2023 (paged)',
  operands: {
    q: { kind: 'tensor', dtypes: ['f32'] },
    kCache: { kind: 'buffer', dtypes: cacheDtypes },
    vCache: { kind: 'buffer', dtypes: cacheDtypes },
    cuSeqlens: { kind: 'tensor', dtypes: ['i32'] },
    kvLengths: { kind: 'tensor', dtypes: ['i32'] },
    blockTable: { kind: 'tensor', dtypes: ['i32'] },
  },
  attributes: attentionAttributes,
  inRange:
    'cuSeqlens runs from 0 to T and never falls; rows of sequence s ≤ kvLengths[s] ≤ B · blockSize; every block of these keys is in [0, blocks). Entries of blockTable behind the last block of a sequence are arbitrary: do not read them',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ q, kCache, vCache, cuSeqlens, kvLengths, blockTable }, attrs) {
    needRank('attention', 'q', q, 3, '[T, H, d]');
    needRank('attention', 'blockTable', blockTable, 2, '[S, blocks of a sequence]');
    const S = blockTable.shape[0]!;
    needShape('attention', 'cuSeqlens', cuSeqlens.shape, [S + 1], 'S + 1, S rows of blockTable');
    needShape('attention', 'kvLengths', kvLengths.shape, [S], 'S rows of blockTable');
    needCache('attention', kCache, vCache, kCache.shape[2] ?? 0, q.shape[2]!);
    const [H, Hk] = [q.shape[1]!, kCache.shape[2]!];
    if (Hk === 0 || H % Hk !== 0)
      throw badShape('attention', `the ${H} heads of q must be a multiple of the cache's ${Hk} kv heads`);
    needAttentionAttributes('attention', attrs);
    return [{ shape: q.shape, dtype: 'f32' }];
  },
  define: (operands, attrs, [y]) => attendCached(operands, attrs, y!, false),
  magnitude: (operands, attrs, [y]) => attendCached(operands, attrs, y!, true),
  rounding: (operands, attrs, [y]) => bf16Rounding(operands, attrs, y!),
  tolerance: { f32: { absolute: 1e-6, relative: 2e-5 }, f16: { absolute: 1e-6, relative: 2e-5 } },
  samples: () => [
    sample(contiguous),
    sample({ ...contiguous, name: 'one token after many', sequences: [[1, 37]], blockSize: 64 }),
    sample({ ...contiguous, name: 'f16 cache', sequences: [[2, 19]], blockSize: 32, format: 'f16' }),
    sample({ name: 'paged', sequences: [[5, 21]], blockSize: 4 }),
    sample({ name: 'paged, f16 cache', sequences: [[1, 33]], blockSize: 8, format: 'f16' }),
    sample({ name: 'paged, bf16 cache', sequences: [[1, 33]], blockSize: 8, format: 'bf16' }),
    sample({ name: 'paged, i8 cache', sequences: [[1, 33]], blockSize: 8, format: 'i8' }),
    sample({ ...contiguous, name: 'i8 cache', sequences: [[21, 40]], blockSize: 64, format: 'i8' }),
    sample({ name: 'paged, E4M3 cache', sequences: [[1, 33]], blockSize: 8, format: 'u8' }),
    sample({ ...contiguous, name: 'E4M3 cache', sequences: [[21, 40]], blockSize: 64, format: 'u8' }),
    sample({
      name: 'ragged: prefill beside decode',
      sequences: [
        [7, 7],
        [1, 18],
        [3, 9],
      ],
      blockSize: 8,
    }),
    sample({
      name: 'a sequence without rows',
      sequences: [
        [2, 4],
        [0, 6],
        [1, 1],
      ],
      blockSize: 4,
    }),
    sample({ name: 'every head its own keys', heads: [3, 3, 8], sequences: [[4, 9]], blockSize: 16 }),
    sample({ name: 'one kv head', heads: [8, 1, 24], sequences: [[2, 11]], blockSize: 16 }),
    sample({ name: 'odd head size', heads: [2, 1, 13], sequences: [[3, 10]], blockSize: 16 }),
    sample({ name: 'wide heads', heads: [2, 2, 128], sequences: [[3, 70]], blockSize: 128 }),
    sample({ name: 'sliding window', sequences: [[6, 20]], blockSize: 32, attrs: { window: 5 } }),
    sample({ name: 'soft cap', sequences: [[4, 12]], blockSize: 16, attrs: { softCap: 3, scale: 2 } }),
    sample({ name: 'not causal', sequences: [[4, 12]], blockSize: 16, attrs: { causal: 0 } }),
    sample({
      name: 'in bf16',
      sequences: [
        [40, 40],
        [2, 9],
        [19, 303],
      ],
      blockSize: 16,
      format: 'f16',
      attrs: { bf16: 1 },
    }),
    sample({
      name: 'in bf16: i8 cache',
      sequences: [[37, 37]],
      blockSize: 16,
      format: 'i8',
      attrs: { bf16: 1 },
    }),
    sample({
      name: 'in bf16: E4M3 cache',
      sequences: [[37, 37]],
      blockSize: 16,
      format: 'u8',
      attrs: { bf16: 1 },
    }),
    sample({
      name: 'in bf16: odd sizes, sliding window, soft cap',
      heads: [6, 2, 13],
      sequences: [[35, 300]],
      blockSize: 64,
      attrs: { bf16: 1, window: 33, softCap: 20 },
    }),
    sample({ name: 'scores far apart', sequences: [[2, 9]], blockSize: 16, attrs: { scale: 40 } }),
  ],
  errors: () => [
    {
      ...sample({ ...contiguous, name: 'more keys than the table holds' }),
      operands: { ...sample(contiguous).operands, kvLengths: ints([9]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...contiguous, name: 'a block outside the cache' }),
      operands: { ...sample(contiguous).operands, blockTable: ints([1], [1, 1]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...contiguous, name: 'fewer keys than rows' }),
      operands: { ...sample(contiguous).operands, kvLengths: ints([2]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...contiguous, name: 'row bounds that miss rows' }),
      operands: { ...sample(contiguous).operands, cuSeqlens: ints([0, 2]) },
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      ...sample({ ...contiguous, name: 'heads no multiple of kv heads' }),
      operands: { ...sample(contiguous).operands, q: normal(1, [3, 3, 16]) },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      ...sample({ ...contiguous, name: 'negative window', attrs: { window: -1 } }),
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
    {
      ...sample({ ...contiguous, name: 'bf16 neither 0 nor 1', attrs: { bf16: 2 } }),
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});
