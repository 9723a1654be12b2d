import { chmodSync, copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeGguf } from '@quern/quant';
import { describeFile } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

test('a GGUF file, and the folder that holds it alone', async () => {
  const path = await writeTinyModel();
  const file = await describeFile(path);
  expect(file).toMatchObject({ path, kind: 'gguf', metadata: { 'general.architecture': 'llama' } });
  expect(await describeFile(dirname(path))).toEqual(file);
});

test('of a model that Quern runs, what it asks of a machine; of another file, nothing', async () => {
  const path = await writeTinyModel();
  const { model, byteLength, tensors } = await describeFile(path);
  const elements = tensors.reduce((sum, { shape }) => sum + shape.reduce((n, d) => n * d, 1), 0);
  expect(model).toMatchObject({ architecture: 'llama', parameters: elements, activeParameters: elements });
  expect(model!.bytesPerToken).toBeLessThanOrEqual(byteLength);
  const unknown = join(dirname(path), 'unknown.gguf');
  await writeGguf(unknown, { metadata: { 'general.architecture': 'unheard-of' }, tensors: [] });
  expect(await describeFile(unknown)).not.toHaveProperty('model');
});

test('a GGUF file beside a shard without config.json is what loading takes', async () => {
  const path = await writeTinyModel();
  writeFileSync(join(dirname(path), 'adapter.safetensors'), '');
  expect(await describeFile(dirname(path))).toMatchObject({ path });
});

test('a folder with none or with several', async () => {
  const path = await writeTinyModel();
  copyFileSync(path, join(dirname(path), 'other.gguf'));
  await expect(describeFile(dirname(path))).rejects.toMatchObject({ code: 'AMBIGUOUS_MODEL' });
  const empty = mkdtempSync(join(tmpdir(), 'quern-empty-'));
  await expect(describeFile(empty)).rejects.toMatchObject({ code: 'NO_MODEL' });
});

const mayReadAll = process.platform === 'win32' || process.getuid?.() === 0;

(mayReadAll ? test.skip : test)('a file that may not be read', async () => {
  const path = await writeTinyModel();
  chmodSync(path, 0);
  await expect(describeFile(path)).rejects.toMatchObject({
    code: 'MODEL_NOT_FOUND',
    message: expect.stringContaining('EACCES'),
  });
});
