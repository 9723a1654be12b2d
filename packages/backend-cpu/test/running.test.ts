// Running plans: off the JavaScript thread, in order, with counts and times; aborts.
import type { PlanDriver } from '@quern/core';
import { cpuDriver } from '../src/index.js';
import { allOps, prepare } from './single-op.js';

let driver: PlanDriver;
beforeEach(async () => {
  driver = await cpuDriver({ threads: 2 });
});
afterEach(() => driver.dispose());

/** `ops` activations of a million elements each: about 1 ms per op. */
const x = { shape: [1 << 20], format: 'f32', values: new Float32Array(1 << 20).fill(1) };
const long = (ops: number) =>
  prepare(driver, allOps.silu!, { name: '', operands: { x }, attributes: {} }, ops);

const runs = (op: string) => driver.kernelRuns!()[op];

test('an abort ends the plan between two ops', async () => {
  const { plan, io } = await long(5000);
  const run = driver.executor.execute(plan, io);
  setTimeout(() => {
    io.control[0] = 1;
  }, 20);
  await expect(run).rejects.toMatchObject({ name: 'AbortError', code: 'ABORTED' });
  expect(runs('silu')).toBeLessThan(5000);
});

test('dispose ends a running plan', async () => {
  const { plan, io } = await long(5000);
  const other = await cpuDriver({ threads: 2 });
  const run = other.executor.execute(plan, io);
  const queued = other.executor.execute(plan, io);
  other.dispose();
  await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
  await expect(queued).rejects.toMatchObject({ code: 'ABORTED' });
  expect(() => other.freeMemory()).toThrow('disposed');
});

test('the event loop runs while a plan runs', async () => {
  const { plan, io } = await long(5000);
  const run = driver.executor.execute(plan, io);
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(runs('silu')).toBeLessThan(5000);
  io.control[0] = 1;
  await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
});

test('kernels are counted and timed', async () => {
  const { plan, io } = await long(3);
  const times = new Float64Array(3);
  await driver.executor.execute(plan, { ...io, times });
  expect(runs('silu')).toBe(3);
  expect(runs('linear')).toBe(0);
  expect(times.every((milliseconds) => milliseconds > 0)).toBe(true);
});

test('a times array that is too short', async () => {
  const { plan, io } = await long(3);
  const run = driver.executor.execute(plan, { ...io, times: new Float64Array(2) });
  await expect(run).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
});

test('plans that are submitted together run in order', async () => {
  const single = await long(1);
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      driver.executor.execute(single.plan, single.io).then(() => order.push(i)),
    ),
  );
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test('every error sample that only a run can detect', async () => {
  for (const op of Object.values(allOps))
    for (const sample of op.errors().filter(({ when }) => when === 'run')) {
      const { plan, io } = await prepare(driver, op, sample);
      const error = await driver.executor.execute(plan, io).catch((thrown) => thrown);
      expect(error).toMatchObject({ name: 'BackendError', code: sample.code });
      expect(error.message).toMatch(`[${op.name}]`);
    }
});

test('the message names the op, the place and the limit', async () => {
  const [pastTheTable] = allOps.embed!.errors();
  const { plan, io } = await prepare(driver, allOps.embed!, pastTheTable!);
  await expect(driver.executor.execute(plan, io)).rejects.toThrow(
    '[embed] ids[1] is 4, but the table has 4 rows',
  );
});

test.each(['inputs', 'outputs'] as const)('a captured plan whose %s were transferred', async (lent) => {
  const single = await prepare(driver, allOps.linear!, allOps.linear!.samples()[0]!);
  const captured = await driver.executor.capture!(single.plan, single.io);
  await captured.replay([], single.io.control);
  structuredClone(single.io[lent], { transfer: [single.io[lent]] });
  expect(() => captured.replay([], single.io.control)).toThrow(
    expect.objectContaining({ code: 'BAD_ARGUMENT' }),
  );
  captured.dispose();
});

test('a captured plan survives the disposal of its weight', async () => {
  const single = await prepare(driver, allOps.linear!, allOps.linear!.samples()[0]!);
  const captured = await driver.executor.capture!(single.plan, single.io);
  for (let id = 0; id < 10; id++) driver.freeWeight({ id, byteLength: 0 });
  await captured.replay([], single.io.control);
  captured.dispose();
});
