// What loading a model would take: models of all kinds, and a bound of the memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  loadModel,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
  planLoad,
  planModel,
} from '../../src/index.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));
const options = { backend: 'cpu', sequences: 8, onNotice: () => {} } as const;
const folder = mkdtempSync(join(tmpdir(), 'quern-plan-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a language model: the bytes of its plan, and what lists show', async () => {
  const { plan, ...found } = await planLoad(demo, options);
  const { weights, cache, activations } = (await planModel(demo, options)).memory;
  expect(found).toMatchObject({
    ...{ kind: 'language', path: demo, architecture: 'llama', context: 512 },
    bytes: weights + cache + activations,
    config: { vocabulary: 2048, width: 192 },
    file: { kind: 'gguf' },
  });
  expect(found.bytes).toBeLessThan(found.available);
  expect(plan!.context).toBe(512);
});

test('encoders and speech models', async () => {
  const [encoder, speech] = [join(folder, 'encoder.gguf'), join(folder, 'speech.gguf')];
  await makeSyntheticEncoder(encoder, { shape: 'tiny', format: 'f32' });
  await makeSyntheticSpeechModel(speech, { shape: 'whisper-test', format: 'f32' });
  const one = await planLoad(encoder, options);
  expect(one).toMatchObject({ kind: 'encoder', context: 64, config: { vocabulary: 256 } });
  expect(one.bytes).toBeGreaterThan(one.file!.byteLength);
  const other = await planLoad(speech, options);
  expect(other).toMatchObject({ kind: 'speech', architecture: 'whisper' });
  expect(other.bytes).toBeGreaterThan(0);
  expect(other.plan).toBeUndefined();
  await expect(planLoad(encoder, { backend: ['cpu'] })).rejects.toMatchObject({ code: 'BAD_OPTION' });
});

test('memoryBytes bounds weights, cache and the largest step: a shorter context, then a refusal', async () => {
  const { bytes } = await planLoad(demo, options);
  const bounded = await planLoad(demo, { ...options, memoryBytes: Math.floor(bytes / 1.5) });
  expect(bounded.bytes).toBeLessThanOrEqual(bytes / 1.5);
  expect(bounded.plan!.room).toBeLessThan(8 * 512);
  using model = await loadModel(demo, { ...options, memoryBytes: Math.floor(bytes / 1.5) });
  expect(model.plan.room).toBe(bounded.plan!.room);
  await expect(planLoad(demo, { ...options, memoryBytes: 1_000_000 })).rejects.toMatchObject({
    code: 'MODEL_TOO_LARGE',
    message: /do not fit in the 1\.00 MB/,
  });
  await expect(planLoad(demo, { ...options, memoryBytes: 0 })).rejects.toMatchObject({ code: 'BAD_OPTION' });
});

test('a file that is not there', async () => {
  await expect(planLoad(join(folder, 'none.gguf'))).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
});
