import {
  BackendError,
  defineBackend,
  KvCache,
  type KvCacheOptions,
  kvCacheBytes,
  stateBytes,
} from '../src/index.js';
import { definitionDriver } from './definition-driver.js';

const backend = defineBackend(definitionDriver());
const convolution = {
  kind: 'state',
  parts: { inputs: { heads: 2, width: 8 }, k: { heads: 1, width: 1 }, v: { heads: 1, width: 2 } },
} as const;
const options = {
  ...{ layers: 3, kvHeads: 1, headDim: 4, dtype: 'f32', context: 16, states: 4 },
  layerStates: [convolution, undefined, { kind: 'kv', heads: 2, headDim: 8 }],
} as const satisfies KvCacheOptions;

const allocate = (changes: Partial<KvCacheOptions> = {}, blocks = 6) =>
  KvCache.allocate(backend, { ...options, ...changes }, blocks, 4);
const badArgument = (message: string) =>
  expect.objectContaining({ code: 'BAD_ARGUMENT', message: expect.stringContaining(message) });

test('each layer keeps what it says', () => {
  using cache = allocate();
  expect(cache.state(0, 'inputs').shape).toEqual([4, 1, 2, 8]);
  expect(cache.state(0, 'v').shape).toEqual([4, 1, 1, 2]);
  expect(cache.layer(1).k.shape).toEqual([6, 4, 1, 4]);
  expect(cache.layer(2).v.shape).toEqual([6, 4, 2, 8]);
  expect(kvCacheBytes(options, 1)).toBe(4 * 2 * (4 + 16));
  expect(stateBytes(options)).toBe(4 * (16 + 3));
  expect(cache.byteLength).toBe(24 * 160 + 4 * 76);
  expect(() => cache.layer(0)).toThrow(badArgument('layer 0 of the cache keeps no keys and values'));
  expect(() => cache.state(1, 'inputs')).toThrow(badArgument("layer 1 of the cache keeps no state 'inputs'"));
  expect(() => cache.state(0, 'outputs')).toThrow(badArgument("keeps no state 'outputs'"));
});

test('states that cannot be are refused', () => {
  expect(() => allocate({ states: undefined })).toThrow(badArgument('states'));
  expect(() => allocate({ layerStates: [convolution] })).toThrow(
    badArgument('3 layerStates, or none; got 1'),
  );
  const empty = { kind: 'state', parts: { inputs: { heads: 0, width: 8 } } } as const;
  expect(() => allocate({ layerStates: [empty, undefined, undefined] })).toThrow(
    badArgument('layerStates[0] needs sizes that are whole numbers above 0; got 0'),
  );
});

test('a step reads the state before it and writes one that nobody else holds', () => {
  using cache = allocate();
  const sequence = cache.sequence();
  sequence.append(4);
  expect(sequence.states).toEqual([-1, 0]);
  sequence.append(2);
  expect(sequence.states).toEqual([0, 0]);
  const held = sequence.stateAt(6)!;
  cache.holdState(held);
  expect(sequence.statesNeeded).toBe(1);
  sequence.append(1);
  expect(sequence.states).toEqual([0, 1]);
  const arrays = cache.describe([{ sequence, rows: 1 }]);
  expect(arrays.states).toEqual(Int32Array.of(0, 1));
  cache.dropState(held);
  sequence.release();
  expect(cache.freeStates).toBe(4);
});

test('a sequence is cut to a state that it keeps', () => {
  using cache = allocate();
  const sequence = cache.sequence();
  sequence.append(5);
  sequence.append(3, true);
  expect(sequence.statePositions).toEqual([5, 8]);
  sequence.truncate(7);
  expect([sequence.length, sequence.blockTable.length, cache.freeStates]).toEqual([5, 2, 3]);
  sequence.append(1);
  expect(sequence.states).toEqual([0, 0]);
  sequence.truncate(5); // the state is that of 6 tokens
  expect([sequence.length, cache.freeStates, cache.freeBlocks]).toEqual([0, 4, 6]);
});

test('a chain that ends early has the state of its last token', () => {
  using cache = allocate();
  const sequence = cache.sequence();
  sequence.append(2);
  sequence.append(8);
  sequence.endAt(5);
  expect([sequence.length, sequence.statePositions, sequence.blockTable.length]).toEqual([5, [5], 2]);
});

test('a prefix needs its state, and forks end with one', () => {
  using cache = allocate();
  const first = cache.sequence();
  first.append(4);
  first.append(3, true);
  expect(() => cache.sequence(first.blockTable.slice(0, 1))).toThrow(badArgument('needs the state after it'));
  const second = cache.sequence(first.blockTable.slice(0, 1), first.stateAt(4)!);
  second.append(1);
  expect(second.states).toEqual([0, 2]);
  const fork = first.fork(7);
  expect([fork.length, fork.stateAt(4)]).toEqual([4, 0]);
  expect(second.fork().length).toBe(4);
});

test('too few states: nothing changes', () => {
  using cache = allocate({ states: 1 });
  const [first, second] = [cache.sequence(), cache.sequence()];
  first.append(4);
  expect(() => second.append(4)).toThrow(
    expect.objectContaining({
      code: 'OUT_OF_MEMORY',
      message: expect.stringContaining('0 of 1 states free'),
    }),
  );
  expect([second.length, cache.freeBlocks]).toEqual([0, 5]);
  first.append(1, true); // none is free to keep the present one
  expect(first.states).toEqual([0, 0]);
});

test('states are copied out and in', async () => {
  using cache = allocate();
  const bytes = Uint8Array.from({ length: 76 }, (_, i) => i);
  await cache.writeState(2, bytes);
  expect(await cache.readState(2)).toEqual(bytes);
  expect(new Set(await cache.readState(1))).toEqual(new Set([0]));
  await expect(cache.writeState(2, bytes.subarray(1))).rejects.toThrow('a state takes 76 bytes; got 75');
  await expect(cache.readState(4)).rejects.toThrow(BackendError);
});

test('ops with a state refuse a batch without states', async () => {
  const weight = await backend.loadWeight({
    name: 'w',
    shape: [8, 3],
    format: 'f32',
    bytes: new Uint8Array(96),
  });
  using cache = allocate();
  using plain = KvCache.allocate(backend, { ...options, layerStates: undefined }, 6, 4);
  const step = backend.step();
  const sequence = plain.sequence();
  sequence.append(1);
  const { cuSeqlens, ...batch } = plain.describe([{ sequence, rows: 1 }]);
  expect(batch.states.length).toBe(0);
  const tensors = { cuSeqlens: step.input(cuSeqlens) } as never;
  const x = step.input(new Float32Array(8), [1, 8]);
  expect(() => backend.shortConv(x, weight, cache.state(0, 'inputs'), tensors)).toThrow(
    badArgument('the batch has no states'),
  );
});
