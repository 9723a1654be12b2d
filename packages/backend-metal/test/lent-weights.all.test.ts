// Dense weights that the GPU reads in their mapped file, on the emulated device.
import './emulated.js';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend, Weight } from '@quern/core';
import { createBackend } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-lent-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [height, width] = [2048, 256];
const valueAt = (i: number) => (i % 251) - 125;

/** A file of f32 behind `offset` bytes. */
function source(name: string, offset: number) {
  const path = join(folder, name);
  const values = Float32Array.from({ length: height * width }, (_, i) => valueAt(i));
  writeFileSync(path, Buffer.concat([Buffer.alloc(offset), Buffer.from(values.buffer)]));
  const bytes = { path, offset, byteLength: values.byteLength };
  return { name: 'w', shape: [height, width], format: 'f32' as const, bytes };
}

async function row(backend: Backend, w: Weight, at: number): Promise<number[]> {
  using step = backend.step();
  return Array.from(await step.read(backend.embed(w, step.input(Int32Array.of(at), [1]))), Number);
}

const expected = (at: number) => Array.from({ length: width }, (_, i) => valueAt(at * width + i));

test.each([
  ['at a multiple of 16 bytes: takes no memory', 32, 0],
  ['elsewhere: is copied', 20, 4 * height * width],
])('a matrix %s', async (_, offset, taken) => {
  using backend = await createBackend();
  await row(backend, await backend.loadWeight(source('first', 4)), 0); // scratch memory, staging
  const before = backend.freeMemory();
  const w = await backend.loadWeight(source('matrix', offset));
  expect(await row(backend, w, height - 1)).toEqual(expected(height - 1));
  expect(before - backend.freeMemory()).toBe(taken);
  w.dispose();
  await row(backend, await backend.loadWeight(source('last', 32)), 7);
  expect(backend.freeMemory()).toBe(before);
});

test('a file that is cut later: the step that meets the hole rejects', async () => {
  using backend = await createBackend();
  const given = source('cut', 32);
  const w = await backend.loadWeight(given);
  expect(await row(backend, w, 1)).toEqual(expected(1));
  truncateSync(given.bytes.path, 4096);
  await expect(row(backend, w, height - 1)).rejects.toMatchObject({
    code: 'DEVICE_FAILED',
    message: expect.stringMatching(/cut/),
  });
});
