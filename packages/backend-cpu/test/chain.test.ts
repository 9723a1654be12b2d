// The addon's own checks of a chain, tested without core.
import type { CapturedPlan, PlanChain, PlanDriver, PlanSlots } from '@quern/core';
import { cpuDriver } from '../src/index.js';
import { allOps, prepare } from './single-op.js';

let driver: PlanDriver;
beforeAll(async () => {
  driver = await cpuDriver({ threads: 1 });
});
afterAll(() => driver.dispose());

/** argmax over one row; the maximum is at 2. Inputs take 64 bytes, outputs 64. */
function row() {
  const x = { shape: [1, 4], format: 'f32', values: Float32Array.of(0, 1, 5, 2) };
  return prepare(driver, allOps.argmax!, { name: '', operands: { x }, attributes: {} });
}

function sharedWords(words: readonly number[]): Int32Array {
  const shared = new Int32Array(new SharedArrayBuffer(4 * words.length));
  shared.set(words);
  return shared;
}

function chainOf(
  captured: CapturedPlan,
  limits: readonly number[],
  stops: readonly number[] = [],
  onReplays?: (done: number) => void,
) {
  const shared = sharedWords(limits);
  return captured.replayChain!(shared, Int32Array.from(stops), [], new Int32Array(1), onReplays);
}

const chain = (changes: Partial<PlanChain> = {}): PlanChain => ({
  output: { byteOffset: 0, count: 1 },
  feed: { byteOffset: 32, count: 1 }, // after the row: no op reads it
  advance: [{ byteOffset: 40, count: 1 }],
  results: new Int32Array(3),
  counts: new Int32Array(1),
  ...changes,
});

/** After the row, in the inputs of `chain`: positions at 40, slots at 44, a table of two blocks at 48. */
const slots = (changes: Partial<PlanSlots> = {}): PlanSlots => ({
  slots: { byteOffset: 44, count: 1 },
  positions: { byteOffset: 40, count: 1 },
  blockTable: { byteOffset: 48, count: 2 },
  blockSize: 4,
  ...changes,
});

test('a chain writes its words, and no others', async () => {
  const { plan, io } = await row();
  const places = chain();
  const captured = await driver.executor.capture!(plan, io, places);
  new Int32Array(io.inputs).set([7, 0x7fffffff, 7], 9);
  expect(await chainOf(captured, [3])).toBe(3);
  expect([...places.results]).toEqual([2, 2, 2]);
  expect([...new Int32Array(io.inputs).subarray(4)]).toEqual([0, 0, 0, 0, 2, 7, -0x7fffffff, 7, 0, 0, 0, 0]);
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
  ['half a row', { output: { byteOffset: 0, count: 0.5 } }],
  ['endless rows', { output: { byteOffset: 0, count: Infinity } }],
  ['no rows', { output: { byteOffset: 0, count: 0 } }],
  ['no memory for a result', { results: new Int32Array(0) }],
  ['no memory for a count', { counts: new Int32Array(0) }],
  ['slots outside the inputs', { slots: slots({ slots: { byteOffset: 64, count: 1 } }) }],
  ['a block table outside the inputs', { slots: slots({ blockTable: { byteOffset: 48, count: 5 } }) }],
  ['half a block', { slots: slots({ blockTable: { byteOffset: 48, count: 0.5 } }) }],
  ['blocks of size 0', { slots: slots({ blockSize: 0 }) }],
])('%s', async (_, changes) => {
  const { plan, io } = await row();
  await expect((async () => driver.executor.capture!(plan, io, chain(changes)))()).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
  });
});

test.each([
  [4, 3],
  [0, 1],
  [-1, 1],
  [2 ** 31 - 1, 3],
])('a limit of %d: at least one replay, at most one per result', async (limit, replays) => {
  const { plan, io } = await row();
  const captured = await driver.executor.capture!(plan, io, chain());
  expect(await chainOf(captured, [limit])).toBe(replays);
  captured.dispose();
});

test('results that have been transferred', async () => {
  const { plan, io } = await row();
  const places = chain();
  const captured = await driver.executor.capture!(plan, io, places);
  structuredClone(places.results, { transfer: [places.results.buffer as ArrayBuffer] });
  await expect((async () => chainOf(captured, [1]))()).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
  captured.dispose();
});

test('a slot follows from position and block table, up to the last block', async () => {
  const { plan, io } = await row();
  const captured = await driver.executor.capture!(plan, io, chain({ slots: slots() }));
  const words = new Int32Array(io.inputs);
  words.set([3, 99, 7, 5], 10);
  expect(await chainOf(captured, [2])).toBe(2);
  expect([...words.subarray(10, 14)]).toEqual([4, 5 * 4, 7, 5]);
  words[10] = 7; // the second of two blocks of size 4
  await expect(chainOf(captured, [2])).rejects.toMatchObject({
    code: 'OUT_OF_RANGE',
    message: expect.stringMatching(/row 0 reached position 8; its 2 blocks of 4/),
  });
  captured.dispose();
});

/** argmax over three rows, maxima at 0, 1 and 2: 36 bytes, then nine free words. */
function threeRows() {
  const x = { shape: [3, 3], format: 'f32', values: Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1) };
  return prepare(driver, allOps.argmax!, { name: '', operands: { x }, attributes: {} });
}

const rows = (): PlanChain => ({
  output: { byteOffset: 0, count: 3 },
  feed: { byteOffset: 36, count: 3 },
  advance: [{ byteOffset: 48, count: 3 }],
  results: new Int32Array(5 * 3),
  counts: new Int32Array(3),
});

test('a row ends by a stop or its limit, and keeps its inputs while other rows continue', async () => {
  const { plan, io } = await threeRows();
  const places = rows();
  const captured = await driver.executor.capture!(plan, io, places);
  const words = new Int32Array(io.inputs);
  words.set([7, 7, 7, 10, 20, 30], 9);
  expect(await chainOf(captured, [5, 2, 4], [0])).toBe(4);
  expect([...places.counts]).toEqual([1, 2, 4]);
  expect([...places.results.subarray(0, 12)]).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
  expect([...words.subarray(9, 15)]).toEqual([7, 1, 2, 10, 21, 33]);
  expect(await chainOf(captured, [1, 1, 1])).toBe(1);
  expect([...places.counts]).toEqual([1, 1, 1]);
  captured.dispose();
});

test('a listener finds the tokens and counts of the replays it is told of', async () => {
  const { plan, io } = await threeRows();
  const places = rows();
  const captured = await driver.executor.capture!(plan, io, places);
  const told: number[] = [];
  const onReplays = (done: number) => {
    expect([...places.results.subarray(3 * (done - 1), 3 * done)]).toEqual([0, 1, 2]);
    for (const [row, limit] of [5, 2, 4].entries())
      expect(places.counts[row]).toBeGreaterThanOrEqual(Math.min(done, limit));
    expect(done).toBeGreaterThan(told.at(-1) ?? 0);
    told.push(done);
  };
  expect(await chainOf(captured, [5, 2, 4], [], onReplays)).toBe(5);
  expect([...places.counts]).toEqual([5, 2, 4]);
  expect(told.every((done) => done < 5)).toBe(true); // the promise tells of the last
  captured.dispose();
});

/** A chain of one row with room for `most` replays. `grown()`: by how much its growing word has grown, also in the middle. */
async function longChain(most: number) {
  const { plan, io } = await row();
  const inputs = driver.executor.hostMemory!(io.inputs.byteLength, 'inputs');
  new Uint8Array(inputs).set(new Uint8Array(io.inputs));
  const places = chain({ results: new Int32Array(most) });
  const captured = await driver.executor.capture!(plan, { ...io, inputs }, places);
  const grown = () => Atomics.load(new Int32Array(inputs), 10);
  const limits = sharedWords([most]);
  const run = (onReplays: (done: number) => void) =>
    captured.replayChain!(limits, new Int32Array(0), [], new Int32Array(1), onReplays);
  return { captured, limits, run, grown };
}

const endless = 10_000_000;

test('a listener is told while the chain runs', async () => {
  const { captured, limits, run } = await longChain(endless);
  const told: number[] = [];
  const replays = await run((done) => {
    told.push(done);
    if (told.length === 3) limits.fill(0); // otherwise the chain runs for minutes
  });
  expect(told.length).toBeGreaterThanOrEqual(3);
  expect(told.at(-1)).toBeLessThanOrEqual(replays);
  captured.dispose();
});

test('replays do not wait for a listener, and those that it missed are one call', async () => {
  const { captured, limits, run, grown } = await longChain(endless);
  const told: number[] = [];
  await run((done) => {
    told.push(done);
    if (told.length > 1) limits.fill(0);
    else while (grown() < done + 1000); // JavaScript is busy
  });
  expect(told[1]).toBeGreaterThanOrEqual(told[0]! + 1000);
  captured.dispose();
});

test('a listener that throws, that transfers the results, or that disposes the driver', async () => {
  const { captured, limits, run } = await longChain(endless);
  const thrown = run(() => {
    limits.fill(0);
    throw new Error('a mistake of the caller');
  });
  expect(await thrown).toBeGreaterThan(0);
  captured.dispose();

  const { plan, io } = await row();
  const places = chain({ results: new Int32Array(endless) });
  const moved = await driver.executor.capture!(plan, io, places);
  const words = sharedWords([endless]);
  const transferring = moved.replayChain!(words, new Int32Array(0), [], new Int32Array(1), () => {
    structuredClone(places.results, { transfer: [places.results.buffer as ArrayBuffer] });
    words.fill(0);
  });
  await expect(transferring).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
  moved.dispose();

  const other = await cpuDriver({ threads: 1 });
  const one = await prepare(other, allOps.argmax!, {
    ...{ name: '', attributes: {} },
    operands: { x: { shape: [1, 4], format: 'f32', values: Float32Array.of(0, 1, 5, 2) } },
  });
  const last = await other.executor.capture!(one.plan, one.io, chain({ results: new Int32Array(endless) }));
  const disposing = chainOf(last, [endless], [], () => other.dispose());
  await expect(disposing).rejects.toMatchObject({ code: 'ABORTED' });
});

test('limits in unshared memory, or not one limit per row', async () => {
  const { plan, io } = await threeRows();
  const captured = await driver.executor.capture!(plan, io, rows());
  const own = async () => captured.replayChain!(new Int32Array(3), new Int32Array(0), [], new Int32Array(1));
  await expect(own()).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringContaining('SharedArrayBuffer'),
  });
  await expect((async () => chainOf(captured, [1]))()).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringContaining('a word for each row'),
  });
  captured.dispose();
});
