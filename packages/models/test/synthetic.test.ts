// Models of true shape with random weights: their blocks must cost what those of real files cost.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGguf } from '@quern/quant';
import { makeSyntheticEncoder } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-synthetic-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** How many different scales the blocks of q8_0 of one matrix have. */
async function scalesIn(format: 'q8_0' | 'int8'): Promise<number> {
  const path = join(folder, `${format}.gguf`);
  await makeSyntheticEncoder(path, { shape: 'bge-small', format });
  const { tensors } = await openGguf(path);
  const { offset, byteLength } = tensors.find(({ name }) => name === 'blk.0.ffn_up.weight')!;
  const blocks = readFileSync(path).subarray(offset, offset + byteLength);
  return new Set(Array.from({ length: byteLength / 34 }, (_, i) => blocks.readUInt16LE(34 * i))).size;
}

test('blocks of q8_0 have different scales, as in real files; those of int8 share one', async () => {
  expect(await scalesIn('q8_0')).toBe(16);
  expect(await scalesIn('int8')).toBe(1);
});
