// The addon's own checks of a chain: what lies between core and it is tested bare.
import type { CapturedPlan, PlanChain, PlanDriver } from '@quern/core';
import { cpuDriver } from '../src/index.js';
import { allOps, prepare } from './single-op.js';

let driver: PlanDriver;
beforeAll(async () => {
  driver = await cpuDriver({ threads: 1 });
});
afterAll(() => driver.dispose());

/** argmax over one row, whose maximum is at 2. Its inputs take 64 bytes, and its outputs too. */
function row() {
  const x = { shape: [1, 4], format: 'f32', values: Float32Array.of(0, 1, 5, 2) };
  return prepare(driver, allOps.argmax!, { name: '', operands: { x }, attributes: {} });
}

const chainOf = (captured: CapturedPlan, count: number) =>
  captured.replayChain!(Int32Array.of(count), new Int32Array(0), [], new Int32Array(1));

const chain = (changes: Partial<PlanChain> = {}): PlanChain => ({
  output: { byteOffset: 0, count: 1 },
  feed: { byteOffset: 32, count: 1 }, // behind the row: nothing reads it
  advance: [{ byteOffset: 40, count: 2 }],
  results: new Int32Array(3),
  counts: new Int32Array(1),
  ...changes,
});

test('words go where they should, and nowhere else', async () => {
  const { plan, io } = await row();
  const places = chain();
  const captured = await driver.executor.capture!(plan, io, places);
  new Int32Array(io.inputs).set([7, 0x7fffffff, 7], 9);
  expect(await chainOf(captured, 3)).toBe(3);
  expect([...places.results]).toEqual([2, 2, 2]);
  expect([...new Int32Array(io.inputs).subarray(4)]).toEqual([0, 0, 0, 0, 2, 7, -0x7fffffff, 9, 0, 0, 0, 0]);
  captured.dispose();
});

test.each<[string, Partial<PlanChain>]>([
  ['an output outside the outputs', { output: { byteOffset: 64, count: 1 } }],
  ['an output that ends outside', { output: { byteOffset: 0, count: 17 } }],
  ['an offset that is not aligned', { feed: { byteOffset: 33, count: 1 } }],
  ['a negative offset', { feed: { byteOffset: -4, count: 1 } }],
  ['an offset that is no number', { feed: { byteOffset: Number.NaN, count: 1 } }],
  ['an offset beyond all memory', { feed: { byteOffset: 2 ** 60, count: 1 } }],
  ['a growing word outside the inputs', { advance: [{ byteOffset: 64, count: 1 }] }],
  ['half a word', { advance: [{ byteOffset: 0, count: 0.5 }] }],
  ['endless words', { advance: [{ byteOffset: 0, count: Infinity }] }],
])('%s', async (_, changes) => {
  const { plan, io } = await row();
  expect(() => driver.executor.capture!(plan, io, chain(changes))).toThrow(
    expect.objectContaining({ code: 'BAD_ARGUMENT' }),
  );
});

test.each([
  [4, 3],
  [0, 1],
  [-1, 1],
  [2 ** 31 - 1, 3],
])('a limit of %d: at least one replay, and no more than there is room for', async (limit, replays) => {
  const { plan, io } = await row();
  const captured = await driver.executor.capture!(plan, io, chain());
  expect(await chainOf(captured, limit)).toBe(replays);
  captured.dispose();
});

test('results that have been transferred', async () => {
  const { plan, io } = await row();
  const places = chain();
  const captured = await driver.executor.capture!(plan, io, places);
  structuredClone(places.results, { transfer: [places.results.buffer as ArrayBuffer] });
  await expect(chainOf(captured, 1)).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
  captured.dispose();
});
