import type { PlanDriver } from '@quern/core';
import { cpuDriver } from '../src/index.js';

let driver: PlanDriver;
beforeAll(async () => {
  driver = await cpuDriver({ threads: 1 });
});
afterAll(() => driver.dispose());

test.each([2 ** 50, 2 ** 52, 2 ** 38])('%d bytes are refused with the numbers', (bytes) => {
  const error = (() => {
    try {
      return driver.memory.allocate(bytes);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toMatchObject({ name: 'BackendError', code: 'OUT_OF_MEMORY' });
  expect((error as Error).message).toContain(String(bytes));
  expect((error as Error).message).toMatch(/free \(\d+ bytes\)/);
});

test.each([-1, 1.5, Number.NaN, Infinity])('%d bytes are no size', (bytes) => {
  expect(() => driver.memory.allocate(bytes)).toThrow(expect.objectContaining({ code: 'BAD_ARGUMENT' }));
});

test('a buffer starts zeroed and holds what is written', async () => {
  const buffer = driver.memory.allocate(10_000);
  const bytes = new Uint8Array(10_000).fill(1);
  await driver.memory.read(buffer, 0, bytes);
  expect(bytes.every((byte) => byte === 0)).toBe(true);
  await driver.memory.write(buffer, 9_997, Uint8Array.of(7, 8, 9));
  await driver.memory.read(buffer, 9_996, bytes.subarray(0, 4));
  expect([...bytes.subarray(0, 4)]).toEqual([0, 7, 8, 9]);
  driver.memory.free(buffer);
});

test('a buffer of no bytes', async () => {
  const buffer = driver.memory.allocate(0);
  await driver.memory.write(buffer, 0, new Uint8Array(0));
  await driver.memory.read(buffer, 0, new Uint8Array(0));
  driver.memory.free(buffer);
});

test('no bytes outside a buffer change', async () => {
  const buffer = driver.memory.allocate(64);
  for (const offset of [1, 65, 2 ** 40])
    await expect(driver.memory.write(buffer, offset, new Uint8Array(64))).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
    });
  driver.memory.free(buffer);
  await expect(driver.memory.read(buffer, 0, new Uint8Array(1))).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
  });
});

test('the profile has detected and measured values', () => {
  const { kind, isa, threads, totalMemory, readBandwidth, flops, rowFlops, promptFlops } = driver.profile;
  expect(kind).toBe('cpu');
  expect([
    'amx',
    'avx512-bf16',
    'avx512-vnni',
    'avx512',
    'avx2',
    'i8mm',
    'dotprod',
    'neon',
    'scalar',
  ]).toContain(isa);
  expect(threads).toBe(1);
  expect(totalMemory).toBeGreaterThan(2 ** 28);
  expect(driver.freeMemory()).toBeLessThanOrEqual(totalMemory);
  expect(readBandwidth).toBeGreaterThan(1e8);
  expect(flops).toBeGreaterThan(1e8);
  expect(rowFlops).toBeGreaterThan(1e8);
  expect(promptFlops).toBeGreaterThan(1e8);
});
