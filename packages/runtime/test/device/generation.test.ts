// The runtime on a device with two plans in flight: equal to the reference backend in tokens, embeddings and
// transcripts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, defineBackend } from '@quern/core';
import { makeSyntheticEncoder, makeSyntheticSpeechModel } from '@quern/models';
import { type TestDevice, testDevice } from '../../../conformance/test/device/driver.js';
import { loadEmbedder, loadModel, loadSpeechModel } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-device-'));
let driver: TestDevice;
let device: Backend;
let reference: Backend;
beforeAll(async () => {
  driver = await testDevice();
  device = defineBackend(driver);
  reference = await createReference();
});
afterAll(() => {
  device.dispose();
  reference.dispose();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs on both backends; the results must be equal. */
async function needSame<T>(run: (backend: Backend) => Promise<T>): Promise<T> {
  const got = await run(device);
  expect(got).toEqual(await run(reference));
  return got;
}

const prompts = ['the cat', 'a', 'once upon a time there was a long prompt of many words'];

describe('a language model', () => {
  let path: string;
  beforeAll(async () => {
    path = await writeTinyModel();
  });

  test.each([
    ['greedy', { temperature: 0 }],
    ['drawn', { temperature: 1, seed: 7 }],
    ['drawn, with penalties', { temperature: 0.8, topK: 20, repetitionPenalty: 1.3, seed: 3 }],
  ])('%s, alone and concurrently', async (_, options) => {
    await needSame(async (backend) => {
      using model = await loadModel(path, { backend, prefillChunk: 8, sequences: 4 });
      const tokens = async (prompt: string, maxTokens: number) =>
        (await model.generate(prompt, { ...options, maxTokens, ignoreEos: true }).result).tokens;
      const alone = await tokens(prompts[2]!, 20);
      const together = await Promise.all(prompts.map((prompt, i) => tokens(prompt, 9 + 4 * i)));
      return [alone, ...together];
    });
  });

  test('paged cache: an abort ends one generation only', async () => {
    await needSame(async (backend) => {
      using model = await loadModel(path, { backend, blockSize: 4 });
      const controller = new AbortController();
      const options = { temperature: 0, maxTokens: 24, ignoreEos: true };
      const ended = model.generate('the', { ...options, signal: controller.signal });
      const others = prompts.map((prompt) => model.generate(prompt, options).result);
      for await (const _ of ended) controller.abort();
      await ended.result.catch(() => {});
      return (await Promise.all(others)).map(({ tokens }) => tokens);
    });
  });
});

test('embeddings of batches', async () => {
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });
  const texts = Array.from({ length: 12 }, (_, i) => 'abc def ghi '.repeat(1 + (i % 4)));
  const run = async (backend: Backend) => {
    using embedder = await loadEmbedder(path, { backend });
    return (await embedder.embed(texts)).values.slice();
  };
  const [got, want] = [await run(device), await run(reference)];
  got.forEach((value, i) => expect(Math.abs(value - want[i]!)).toBeLessThan(1e-5));
});

test('speech', async () => {
  const path = join(folder, 'whisper.gguf');
  await makeSyntheticSpeechModel(path, { shape: 'whisper-test', format: 'f32' });
  const samples = Float32Array.from({ length: 16_000 }, (_, i) => 0.3 * Math.sin((i * i) / 200_000));
  const brief = { language: 'en', maxTokens: 4, temperatures: [0], noSpeechThreshold: 1 };
  await needSame(async (backend) => {
    using model = await loadSpeechModel(path, { backend });
    const { segments } = await model.transcribe({ sampleRate: 16_000, samples }, brief).result;
    return segments.map(({ tokens }) => tokens);
  });
});
