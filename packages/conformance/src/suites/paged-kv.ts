import { type Backend, contiguousKvCache, type KvCache, type KvSequence, need } from '@quern/core';
import type { Case, Suite } from '../case.js';
import { fresh } from '../ops/fresh.js';
import { attend, cacheOptions, config, tokensFrom } from '../plans/text-cache.js';
import { compare } from '../values/compare.js';
import { ensure, refusal } from '../values/refusal.js';

const on = fresh('pagedKv');

/** Rounding of an attention over values near magnitude 1. */
const allowed = () => 1e-4;

const same = (label: string, got: Float32Array, want: Float32Array) =>
  compare(label, { shape: [got.length], data: got }, { shape: [want.length], data: want }, allowed);

type Dtype = 'f32' | 'f16';

function paged(backend: Backend, dtype: Dtype, blockSize: number, context: number, blocks: number): KvCache {
  need(backend, 'pagedKv');
  return backend.pagedKv.createCache({ ...cacheOptions(dtype, context), blocks, blockSize });
}

/** Rows appended by each of three sequences in each step: prefill, then prefill beside decode, then decode. */
const schedule = (blockSize: number) => [
  [blockSize - 1, 1, 0],
  [2, 1, blockSize + 3],
  [1, 1, 1],
  [0, blockSize, 1],
  [1, 1, 1],
];

/** Takes and frees blocks, so that later sequences get blocks in random order. */
function fragment(cache: KvCache, blockSize: number): void {
  const holders = Array.from({ length: 5 }, () => cache.sequence());
  for (const holder of holders) holder.append(blockSize);
  for (const i of [3, 0, 4, 1, 2]) holders[i]!.release();
}

/** Enough blocks for the schedule: its longest sequence has two blocks and four tokens. */
const blocksFor = (blockSize: number) => 3 * Math.ceil((2 * blockSize + 4) / blockSize);

async function runSchedule(backend: Backend, cache: KvCache, blockSize: number): Promise<Float32Array[]> {
  const sequences = [cache.sequence(), cache.sequence(), cache.sequence()];
  const results: Float32Array[] = [];
  for (const [round, counts] of schedule(blockSize).entries()) {
    const feeds = sequences.map((sequence, s) => ({
      sequence,
      tokens: tokensFrom(100 * s + 1000 * round, counts[s]!),
    }));
    results.push(await attend(backend, cache, feeds));
  }
  return results;
}

const equalsContiguous = (blockSize: number, dtype: Dtype): Case =>
  on(`blocks of ${blockSize} tokens equal a contiguous cache, ${dtype}`, async (backend) => {
    const context = 3 * blockSize + 8;
    const cache = paged(backend, dtype, blockSize, context, blocksFor(blockSize));
    fragment(cache, blockSize);
    const contiguous = contiguousKvCache(backend, { ...cacheOptions(dtype, context), sequences: 3 });
    const got = await runSchedule(backend, cache, blockSize);
    const want = await runSchedule(backend, contiguous, blockSize);
    for (const [round, rows] of want.entries()) same(`round ${round}`, got[round]!, rows);
  });

/** Results of a sequence's last tokens when it is alone in its own cache. */
async function alone(backend: Backend, tokens: readonly number[], last: number): Promise<Float32Array> {
  const cache = contiguousKvCache(backend, { ...cacheOptions('f32', tokens.length), sequences: 1 });
  const rows = await attend(backend, cache, [{ sequence: cache.sequence(), tokens }]);
  cache.dispose();
  return rows.slice(-last * config.heads * config.headDim);
}

async function proveNext(
  backend: Backend,
  cache: KvCache,
  sequence: KvSequence,
  before: readonly number[],
  next: readonly number[],
) {
  const got = await attend(backend, cache, [{ sequence, tokens: next }]);
  same('the next tokens', got, await alone(backend, [...before, ...next], next.length));
}

const forks = (blockSize: number): Case =>
  on(`a fork shares only whole blocks of ${blockSize} tokens`, async (backend) => {
    const cache = paged(backend, 'f32', blockSize, 4 * blockSize + 4, 16);
    const parent = cache.sequence();
    const prefix = tokensFrom(1, 2 * blockSize + (blockSize > 1 ? 1 : 0));
    await attend(backend, cache, [{ sequence: parent, tokens: prefix }]);
    const free = cache.freeBlocks;
    const child = parent.fork();
    ensure(cache.freeBlocks === free, 'a fork should take no block');
    ensure(
      child.length === 2 * blockSize,
      `a fork should have the whole blocks: ${2 * blockSize} tokens, got ${child.length}`,
    );
    const shared = prefix.slice(0, child.length);
    await proveNext(backend, cache, child, shared, [501, 502]);
    await proveNext(backend, cache, parent, prefix, [601, 602]);
    parent.release();
    await proveNext(backend, cache, child, [...shared, 501, 502], [503]);
    child.release();
    ensure(cache.freeBlocks === cache.blocks, 'all blocks should be free again');
  });

const cutting = (blockSize: number): Case =>
  on(`a truncated sequence does not change its fork, blocks of ${blockSize}`, async (backend) => {
    const cache = paged(backend, 'f32', blockSize, 4 * blockSize + 4, 16);
    const parent = cache.sequence();
    const prefix = tokensFrom(1, 2 * blockSize);
    await attend(backend, cache, [{ sequence: parent, tokens: prefix }]);
    const child = parent.fork();
    parent.truncate(2 * blockSize - 1);
    await proveNext(backend, cache, parent, prefix.slice(0, parent.length), [701, 702]);
    await proveNext(backend, cache, child, prefix, [801]);
  });

const refusals = (blockSizes: readonly number[]): readonly Case[] => [
  on('an invalid block size', async (backend) => {
    for (const size of [0, -1, 1.5, Number.NaN])
      await refusal('BAD_ARGUMENT', () => paged(backend, 'f32', size, 8, 4));
  }),
  on('a cache larger than any memory', async (backend) => {
    const blockSize = blockSizes[0]!;
    await refusal('OUT_OF_MEMORY', () => paged(backend, 'f32', blockSize, 1024, 2 ** 42));
  }),
  on('more tokens than the blocks can hold', async (backend) => {
    const blockSize = blockSizes[0]!;
    const cache = paged(backend, 'f32', blockSize, 8 * blockSize, 4);
    const sequence = cache.sequence();
    sequence.append(3 * blockSize);
    await refusal('OUT_OF_MEMORY', () => cache.sequence().append(2 * blockSize));
    ensure(cache.freeBlocks === 1, `one block should still be free, not ${cache.freeBlocks}`);
    await refusal('BAD_ARGUMENT', () => sequence.append(6 * blockSize));
  }),
];

/** Block sizes that drivers rarely declare: they may be slow, but must give the same values. */
const undeclared = [1, 3, 13];

/** Paged against contiguous caches, for every declared block size and some undeclared ones. */
export const pagedKv: Suite = ({ backend }) => {
  const blockSizes = backend.pagedKv?.blockSizes;
  if (!blockSizes) return [];
  return [
    ...blockSizes.flatMap((size) => (['f32', 'f16'] as const).map((dtype) => equalsContiguous(size, dtype))),
    ...undeclared.filter((size) => !blockSizes.includes(size)).map((size) => equalsContiguous(size, 'f32')),
    ...blockSizes.map(forks),
    ...blockSizes.filter((size) => size > 1).map(cutting),
    ...refusals(blockSizes),
  ];
};
