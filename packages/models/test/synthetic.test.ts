// Models of true shape with random weights: their blocks must cost as much as real ones.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { elementCount } from '@quern/core';
import { openGguf } from '@quern/quant';
import { makeSyntheticEncoder } from '../src/index.js';
import { syntheticModel } from '../src/synthetic/make-synthetic.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-synthetic-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Number of different scales among the q8_0 blocks of one matrix. */
async function scalesIn(format: 'q8_0' | 'int8'): Promise<number> {
  const path = join(folder, `${format}.gguf`);
  await makeSyntheticEncoder(path, { shape: 'bge-small', format });
  const { tensors } = await openGguf(path);
  const { offset, byteLength } = tensors.find(({ name }) => name === 'blk.0.ffn_up.weight')!;
  const blocks = readFileSync(path).subarray(offset, offset + byteLength);
  return new Set(Array.from({ length: byteLength / 34 }, (_, i) => blocks.readUInt16LE(34 * i))).size;
}

test('q8_0 blocks have different scales, as in real files; int8 has one scale', async () => {
  expect(await scalesIn('q8_0')).toBe(16);
  expect(await scalesIn('int8')).toBe(1);
});

test.each([
  ['qwen3-moe-12x64', 1439.9],
  ['llama-3.2-1b', 1235.8],
  ['gemma3-1b', 999.9],
  ['phi-4-mini', 3836],
] as const)('%s has %d million parameters, as published', (shape, millions) => {
  const { tensors } = syntheticModel({ shape, format: 'q4_0' });
  const elements = tensors
    .filter(({ name }) => !name.startsWith('rope_factors'))
    .reduce((sum, tensor) => sum + elementCount(tensor.shape), 0);
  expect(elements / 1e6).toBeCloseTo(millions, 0);
  expect(new Set(tensors.map(({ name }) => name)).size).toBe(tensors.length);
});
