import {
  type Backend,
  type cacheDtypes,
  driverOf,
  dtypeBytes,
  type KvBuffer,
  KvCache,
  type KvSpec,
  kvElements,
  kvOf,
} from '@quern/core';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { fresh } from '../ops/fresh.js';
import { attend, cacheOptions, tokensFrom } from '../plans/text-cache.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('caches');

type CacheDtype = (typeof cacheDtypes)[number];

/** Odd sizes: they reach the edges of a tiled layout. */
const specOf = (dtype: CacheDtype): KvSpec => ({ blocks: 5, blockSize: 7, heads: 3, headDim: 20, dtype });

const blockBytes = ({ byteLength, shape }: KvBuffer): number => byteLength / shape[0]!;

/** Bytes with a different pattern per block. The top byte of an element is 0x3c, so no float is NaN. */
function pattern(buffer: KvBuffer, first: number, count: number): Uint8Array {
  const elementBytes = dtypeBytes[buffer.dtype];
  return Uint8Array.from({ length: count * blockBytes(buffer) }, (_, i) =>
    elementBytes > 1 && i % elementBytes === elementBytes - 1
      ? 0x3c
      : (31 * (first * blockBytes(buffer) + i)) % 251,
  );
}

async function needBlocks(buffer: KvBuffer, first: number, want: Uint8Array): Promise<void> {
  const got = await buffer.readBlocks(first, want.length / blockBytes(buffer));
  const at = got.findIndex((byte, i) => byte !== want[i]);
  ensure(
    got.length === want.length && at < 0,
    `byte ${at} from block ${first} on should be ${want[at]}; got ${got[at]}`,
  );
}

const copied = (dtype: CacheDtype): readonly Case[] => [
  on(`blocks of ${dtype} are read back unchanged`, async (backend) => {
    const buffer = backend.kvBuffer(specOf(dtype));
    await buffer.writeBlocks(0, pattern(buffer, 0, 5));
    await needBlocks(buffer, 0, pattern(buffer, 0, 5));
    await needBlocks(buffer, 2, pattern(buffer, 2, 1));
    await needBlocks(buffer, 3, pattern(buffer, 3, 2));
  }),
  on(`a write to a block of ${dtype} leaves the others`, async (backend) => {
    const buffer = backend.kvBuffer(specOf(dtype));
    await buffer.writeBlocks(3, pattern(buffer, 3, 1));
    await needBlocks(buffer, 0, new Uint8Array(3 * blockBytes(buffer)));
    await needBlocks(buffer, 3, pattern(buffer, 3, 1));
    await needBlocks(buffer, 4, new Uint8Array(blockBytes(buffer)));
  }),
  on(`a cache of ${dtype} starts zeroed, also in freed memory`, async (backend) => {
    for (let round = 0; round < 4; round++) {
      const buffer = backend.kvBuffer(specOf(dtype));
      await needBlocks(buffer, 0, new Uint8Array(buffer.byteLength));
      await buffer.writeBlocks(0, new Uint8Array(buffer.byteLength).fill(0x3c));
      buffer.dispose();
    }
  }),
];

/** kvAppend writes slot 9: token 2 of block 1 in canonical form. */
const inItsPlace: Case = on('a token lies in its place in canonical form', async (backend) => {
  const spec = specOf('f32');
  const [k, v] = [backend.kvBuffer(spec), backend.kvBuffer(spec)];
  const rowElements = spec.heads * spec.headDim;
  const values = Float32Array.from({ length: rowElements }, (_, i) => i + 1);
  const step = backend.step();
  const row = step.input(values, [1, spec.heads, spec.headDim]);
  backend.kvAppend({ k, v }, row, backend.scale(row, -1), step.input(Int32Array.of(9)));
  await step.run();
  for (const [buffer, sign] of [[k, 1] as const, [v, -1] as const]) {
    const block = new Float32Array(spec.blockSize * rowElements);
    block.set(
      values.map((value) => sign * value),
      2 * rowElements,
    );
    await needBlocks(buffer, 1, new Uint8Array(block.buffer));
  }
});

const cacheOf = (backend: Backend, dtype: 'f32' | 'f16', context: number, blockSize: number): KvCache =>
  KvCache.allocate(backend, cacheOptions(dtype, context), Math.ceil(context / blockSize) + 2, blockSize);

const context = 24;
const blockSize = 8;

/** A text continues in another cache, in other blocks, after its blocks were copied there: the same bits. */
const moved = (dtype: 'f32' | 'f16'): Case =>
  on(`a sequence moves to a cache of another backend, ${dtype}`, async (backend, lab) => {
    const other = await lab.open();
    const [from, to] = [
      cacheOf(backend, dtype, context, blockSize),
      cacheOf(other, dtype, context, blockSize),
    ];
    const [there, stayed] = [to.sequence(), from.sequence()];
    await attend(backend, from, [{ sequence: stayed, tokens: tokensFrom(1, 19) }]);
    to.sequence().append(blockSize); // gets blocks with other numbers
    there.append(19);
    await to.writeBlocks(there.blockTable, await from.readBlocks(stayed.blockTable));
    const want = await attend(backend, from, [{ sequence: stayed, tokens: [77] }]);
    const got = await attend(other, to, [{ sequence: there, tokens: [77] }]);
    ensure(
      got.join() === want.join(),
      'the token after the move should have the same bits as without the move',
    );
  });

async function refusals(backend: Backend): Promise<void> {
  const spec = specOf('f32');
  const buffer = backend.kvBuffer(spec);
  await refusal('BAD_ARGUMENT', () => buffer.readBlocks(5));
  await refusal('BAD_ARGUMENT', () => buffer.readBlocks(-1));
  await refusal('BAD_ARGUMENT', () => buffer.readBlocks(3, 3));
  await refusal('BAD_ARGUMENT', () => buffer.writeBlocks(4, pattern(buffer, 0, 2)));
  await refusal('BAD_ARGUMENT', () => buffer.writeBlocks(0, new Uint8Array(blockBytes(buffer) - 4)));
  await refusal('BAD_ARGUMENT', () => backend.kvBuffer({ ...spec, heads: 0 }));
  await refusal('BAD_ARGUMENT', () => backend.kvBuffer({ ...spec, dtype: 'i32' }));
}

const everywhere: readonly Case[] = [
  on('blocks outside the cache', refusals),
  on('a cache buffer larger than any memory', async (backend, { options }) => {
    const bytes = options.memoryLimitProbe ?? 2 ** 50;
    const spec: KvSpec = {
      blocks: Math.ceil(bytes / 2 ** 20),
      blockSize: 1024,
      heads: 4,
      headDim: 64,
      dtype: 'f32',
    };
    await refusal('OUT_OF_MEMORY', () => backend.kvBuffer(spec));
    await proveUsable(backend);
  }),
  on('caches and buffers share no id', async (backend) => {
    const driver = driverOf(backend)!;
    const held = [driver.memory.allocate(4), kvOf(driver).allocate(specOf('f32')), driver.memory.allocate(4)];
    const ids = held.map(({ id }) => id);
    ensure(new Set(ids).size === 3, `live buffers must have unique ids; got ${ids.join()}`);
  }),
];

const dtypesOf = ({ backend }: Lab): readonly CacheDtype[] => [
  'f32',
  'f16',
  ...[...(backend.kvQuant?.dtypes ?? [])].map((dtype) => kvElements[dtype]),
];

/** Caches as seen by host code: whole blocks in canonical form, for any layout on the device. */
export const caches: Suite = (lab) => [
  ...dtypesOf(lab).flatMap(copied),
  inItsPlace,
  ...(['f32', 'f16'] as const).map(moved),
  ...everywhere,
];
