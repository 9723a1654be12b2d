import { BackendError, type Kernel } from '@quern/core';
import { type Cache, cacheOf, gather } from './cache.js';
import { floats, integers } from './operands.js';
import { dot } from './products.js';

/** One sequence of a ragged batch. */
interface Sequence {
  /** The rows firstRow … endRow − 1 of q are the sequence's last tokens. */
  readonly firstRow: number;
  readonly endRow: number;
  /** Tokens in the cache, including the tokens of these rows. */
  readonly length: number;
  readonly blocks: Int32Array;
}

const outOfRange = (message: string) => new BackendError('OUT_OF_RANGE', `[attention] ${message}`);

function checkSequence({ firstRow, endRow, length, blocks }: Sequence, cache: Cache): void {
  const room = blocks.length * cache.blockSize;
  if (endRow < firstRow || length < endRow - firstRow || length > room)
    throw outOfRange(`${endRow - firstRow} rows and ${length} keys; the block table holds ${room}`);
  const used = blocks.subarray(0, Math.ceil(length / cache.blockSize));
  const wrong = used.find((block) => block < 0 || block >= cache.blocks);
  if (wrong !== undefined) throw outOfRange(`block ${wrong} of a cache of ${cache.blocks}`);
}

/** Keys and values of one kv head: elements offset … offset + d − 1 of each row; rows have `stride` elements. */
interface Head {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly stride: number;
  readonly offset: number;
}

/** softmax(q · Kᵀ · scale) · V over keys `first` … `end` − 1 → y [d]. */
function attendHead(
  q: Float32Array,
  { keys, values, stride, offset }: Head,
  [first, end]: readonly [number, number],
  { scale, softCap }: Readonly<Record<string, number>>,
  y: Float32Array,
): void {
  const weights = Float64Array.from({ length: Math.max(0, end - first) }, (_, j) => {
    const score = dot(q, 0, keys, (first + j) * stride + offset, q.length) * scale!;
    return softCap! > 0 ? softCap! * Math.tanh(score / softCap!) : score;
  });
  const max = weights.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const sum = weights.reduce((total, score) => total + Math.exp(score - max), 0);
  y.fill(0);
  weights.forEach((score, j) => {
    const weight = Math.exp(score - max) / sum;
    const at = (first + j) * stride + offset;
    for (let i = 0; i < y.length; i++) y[i] = y[i]! + weight * values[at + i]!;
  });
}

/** q [T, H, d] over a cache [blocks, blockSize, Hk, d] → [T, H, d]. */
export const attention: Kernel = (operands, attributes, [output]) => {
  const [T, H, d] = operands.q!.shape as [number, number, number];
  const [S, tableWidth] = operands.blockTable!.shape as [number, number];
  const [q, y] = [floats(operands.q!), floats(output!)];
  const [kCache, vCache] = [cacheOf(operands.kCache!), cacheOf(operands.vCache!)];
  const [starts, lengths] = [integers(operands.cuSeqlens!), integers(operands.kvLengths!)];
  const table = integers(operands.blockTable!);
  if (starts[0] !== 0 || starts[S] !== T)
    throw outOfRange(`cuSeqlens runs from ${starts[0]} to ${starts[S]}; q has ${T} rows`);
  const sequences = Array.from(lengths, (length, s): Sequence => {
    const blocks = table.subarray(s * tableWidth, (s + 1) * tableWidth);
    return { firstRow: starts[s]!, endRow: starts[s + 1]!, length, blocks };
  });
  for (const sequence of sequences) checkSequence(sequence, kCache);
  for (const sequence of sequences) {
    const { firstRow, endRow, length, blocks } = sequence;
    const keys = gather(kCache, blocks, length);
    const values = gather(vCache, blocks, length);
    for (let row = firstRow * H; row < endRow * H; row++) {
      const position = length - endRow + Math.floor(row / H);
      const first = attributes.window! > 0 ? Math.max(0, position - attributes.window! + 1) : 0;
      const end = attributes.causal ? position + 1 : length;
      const kvHead = Math.floor(((row % H) * kCache.width) / d / H); // ⌊h · Hk / H⌋
      const head = { keys, values, stride: kCache.width, offset: kvHead * d };
      const at = [row * d, (row + 1) * d] as const;
      attendHead(q.subarray(...at), head, [first, end], attributes, y.subarray(...at));
    }
  }
};
