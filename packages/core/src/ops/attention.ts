import type { AttnConfig } from '../attention-config.js';
import type { AttentionBatch } from '../kv/batch.js';
import { cacheDtypes, cacheNumbers } from '../kv/cache-row.js';
import type { KvLayer } from '../kv/kv-cache.js';
import { badArgument, badShape, needRank, needShape, outOfRange } from '../op/check.js';
import type { Attributes } from '../op/define-op.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import type { Weight } from '../weight.js';
import { attentionErrors, attentionSamples } from './attention-samples.js';
import { configuredAttributes, needConfigured } from './configured.js';
import { needCache } from './kv-append.js';

// In the sandboxes of test frameworks a look-up of a global takes as long as the arithmetic.
const { abs, exp, floor, max, sqrt, tanh } = Math;
const { isFinite: finite } = Number;

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

type Operands = Record<'q' | 'kCache' | 'vCache' | 'cuSeqlens' | 'kvLengths' | 'blockTable', Numbers> & {
  readonly sinks?: Numbers | undefined;
};

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

/** Indices in the cache of the keys that a query sees, for query head h. */
function placesOf({ q, kCache, blockTable }: Operands, query: Query, h: number): number[] {
  const [, blockSize, Hk, width] = kCache.shape as [number, number, number, number];
  const kvHead = floor(h / (q.shape[1]! / Hk));
  const places: number[] = [];
  for (let key = query.firstKey; key < query.endKey; key++) {
    const block = blockTable.data[query.table + floor(key / blockSize)]!;
    places.push(((block * blockSize + (key % blockSize)) * Hk + kvHead) * width);
  }
  return places;
}

/** The softmax weights of the keys at `places` for the query row at `from`, not yet divided by their sum and the sink's. */
function weightsOf(
  { q, kCache, sinks }: Operands,
  attrs: AttentionAttributes,
  from: number,
  places: number[],
) {
  const [, H, d] = q.shape as [number, number, number];
  const sink = sinks ? sinks.data[(from / d) % H]! : -Infinity;
  const scores = places.map((key) => {
    let dot = 0;
    for (let i = 0; i < d; i++) dot += q.data[from + i]! * kCache.data[key + i]!;
    const scaled = dot * attrs.scale;
    return attrs.softCap > 0 ? attrs.softCap * tanh(scaled / attrs.softCap) : scaled;
  });
  const highest = scores.reduce((a, b) => max(a, b), sink);
  const weights = scores.map((score) => exp(score - highest));
  return { weights, sum: weights.reduce((a, b) => a + b, sinks ? exp(sink - highest) : 0) };
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
  const [, H, d] = operands.q.shape as [number, number, number];
  const v = operands.vCache.data;
  const from = (t * H + h) * d;
  const places = placesOf(operands, query, h);
  const { weights, sum } = weightsOf(operands, attrs, from, places);
  for (let i = 0; i < d; i++) {
    let value = 0;
    for (let j = 0; j < weights.length; j++) {
      const element = v[places[j]! + i]!;
      value += weights[j]! * (absolute ? abs(element) : element);
    }
    y.data[from + i] = weights.length ? value / sum : 0;
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

/**
 * Largest error of one product q·k in a score, as a share of it: q and k as two bf16 each, without the product of the lower
 * parts (2⁻¹⁷ + 2⁻¹⁷ + 2⁻¹⁶). Products of floats are 2⁻⁹ of that.
 */
const scoreError = 2 ** -15;

/** Over the keys of a query with finite products the largest Σ|q·k|·|scale|, and the largest √Σ(q·k)²·|scale|. */
function largestScores(operands: Operands, scale: number, query: Query, t: number, h: number) {
  const { q, kCache } = operands;
  const [, H, d] = q.shape as [number, number, number];
  const from = (t * H + h) * d;
  let [sum, squares] = [0, 0];
  for (const place of placesOf(operands, query, h)) {
    let [terms, powers] = [0, 0];
    for (let i = 0; i < d; i++) {
      const term = abs(q.data[from + i]! * kCache.data[place + i]!);
      terms += term;
      powers += term * term;
    }
    if (!finite(terms)) continue; // weight 0, or the row is NaN
    sum = max(sum, terms);
    squares = max(squares, powers);
  }
  return { sum: sum * abs(scale), root: sqrt(squares) * abs(scale) };
}

/**
 * Maximum change from rounding, as a share of Σ weight·|v|. A score that moves by e changes its softmax weight, and the sum of
 * the weights, by a factor exp(e). bf16 = 1: q and k are rounded to bf16, e = Σ|q·k|·scale · 2·2^-8; weight and value are rounded
 * too, and the exponential may be. Otherwise the errors of a score's products are independent: e = √Σ(q·k)²·scale · 2^-15.
 */
export function scoreRounding(given: Operands, attrs: AttentionAttributes, y: Numbers): void {
  const operands = withNumbers(given);
  const { q, cuSeqlens, kvLengths, blockTable } = operands;
  const [T, H, d] = q.shape as [number, number, number];
  attend(operands, attrs, y, true);
  for (let t = 0; t < T; t++) {
    const query = placeQuery(t, cuSeqlens, kvLengths, blockTable.shape[1]!, attrs);
    for (let h = 0; h < H; h++) {
      const { sum, root } = largestScores(operands, attrs.scale, query, t, h);
      const moved = attrs.bf16 ? sum * (toBf16 ** 2 - 1) : root * scoreError;
      const factor = exp(2 * moved) * (attrs.bf16 ? toBf16 ** 3 : 1) - 1;
      for (let i = (t * H + h) * d; i < (t * H + h + 1) * d; i++) y.data[i] = y.data[i]! * factor;
    }
  }
}

function attendCached(operands: Operands, attrs: AttentionAttributes, y: Numbers, absolute: boolean): void {
  checkBatch(operands);
  attend(withNumbers(operands), attrs, y, absolute);
}

export const attention = defineOp({
  name: 'attention',
  doc:
    'softmax(q · Kᵀ · scale) · V over a cache: q [T, H, d], cache [blocks, blockSize, Hk, d] → [T, H, d] (i8, u8: head layout of kvAppend). The batch is ragged: rows cuSeqlens[s] to cuSeqlens[s+1] of q are the ' +
    'last tokens of sequence s. The kvLengths[s] keys of sequence s lie in blocks blockTable[s, …]. A contiguous cache is one block per sequence. Query head h reads kv head ⌊h · Hk / H⌋. With n rows and L keys, row i has position p = L − n + i. causal = 1: row i reads keys 0 … p; causal = 0: all L keys; window > 0: no key before p − window + 1. softCap > 0: a score s becomes softCap · tanh(s / softCap). sinks [H], one score per head: each softmax has exp(sink) in its divisor too, without a value; scale and softCap do not change it. A NaN in a row of q, or in a key that the row sees, makes this head of the row NaN; a NaN or an infinity in a value makes its element NaN or infinite, perhaps also in rows of the sequence that do not see it (tiles: 0 · NaN). With bf16 = 1 the kernel may round q, k, v and the softmax weights to bf16. With bf16 = 0 a score may err by 2⁻¹⁵ · |scale| · √Σ(q·k)², so that q and k may be two bf16 each; its weight then errs in proportion.',
  source:
    'Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 (GQA); Kwon et al. 2023 (paged); OpenAI 2025, gpt-oss model card (sinks)',
  operands: {
    q: { kind: 'tensor', dtypes: ['f32'] },
    kCache: { kind: 'buffer', dtypes: cacheDtypes },
    vCache: { kind: 'buffer', dtypes: cacheDtypes },
    cuSeqlens: { kind: 'tensor', dtypes: ['i32'] },
    kvLengths: { kind: 'tensor', dtypes: ['i32'] },
    blockTable: { kind: 'tensor', dtypes: ['i32'] },
    sinks: { kind: 'weight', optional: true, claimed: true },
  },
  attributes: attentionAttributes,
  inRange:
    'cuSeqlens runs from 0 to T and never falls; rows of sequence s ≤ kvLengths[s] ≤ B · blockSize; every block of these keys is in [0, blocks). Entries of blockTable behind the last block of a sequence are arbitrary: do not read them',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ q, kCache, vCache, cuSeqlens, kvLengths, blockTable, sinks }, attrs) {
    needRank('attention', 'q', q, 3, '[T, H, d]');
    needRank('attention', 'blockTable', blockTable, 2, '[S, blocks of a sequence]');
    const S = blockTable.shape[0]!;
    needShape('attention', 'cuSeqlens', cuSeqlens.shape, [S + 1], 'S + 1, S rows of blockTable');
    needShape('attention', 'kvLengths', kvLengths.shape, [S], 'S rows of blockTable');
    needCache('attention', kCache, vCache, kCache.shape[2] ?? 0, q.shape[2]!);
    const [H, Hk] = [q.shape[1]!, kCache.shape[2]!];
    if (Hk === 0 || H % Hk !== 0)
      throw badShape('attention', `the ${H} heads of q must be a multiple of the cache's ${Hk} kv heads`);
    if (sinks) needShape('attention', 'sinks', sinks.shape, [H], 'a score per head of q');
    needAttentionAttributes('attention', attrs);
    return [{ shape: q.shape, dtype: 'f32' }];
  },
  define: (operands, attrs, [y]) => attendCached(operands, attrs, y!, false),
  magnitude: (operands, attrs, [y]) => attendCached(operands, attrs, y!, true),
  rounding: (operands, attrs, [y]) => scoreRounding(operands, attrs, y!),
  tolerance: { f32: { absolute: 1e-6, relative: 2e-5 }, f16: { absolute: 1e-6, relative: 2e-5 } },
  samples: attentionSamples,
  errors: attentionErrors,
});

/**
 * Attention of q [T, H, d] over a cache layer → [T, H, d]. Append the keys and values of these rows first. `sinks`: [H].
 */
export function call(
  q: Tensor,
  layer: KvLayer,
  batch: AttentionBatch,
  config: AttnConfig,
  sinks?: Weight,
): Tensor {
  needConfigured('attention', q, layer.k.shape[2], 'the cache', layer.k.shape, config);
  const { cuSeqlens, kvLengths, blockTable } = batch;
  const operands = { q, kCache: layer.k, vCache: layer.v, cuSeqlens, kvLengths, blockTable, sinks };
  return record(q, attention, operands, configuredAttributes(config));
}
