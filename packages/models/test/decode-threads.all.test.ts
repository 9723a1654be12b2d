// Weights that JavaScript decodes at loading: large models use threads, which end after loading.
import { existsSync, readdirSync, truncateSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import type { Backend, Weight, WeightSource } from '@quern/core';
import { random } from '@quern/core/testing';
import { byteLength, iq8, writeGguf } from '@quern/quant';
import { loadLanguageModel, openModelFile } from '../src/index.js';
import { decodedSource } from '../src/weights/decode-weight.js';
import { llamaMetadata, randomTensor, scratch } from './model-files.js';

/** V and D: 2^24 elements. */
const large = [2 ** 16, 256] as const;
const small = { attn_q: [256, 256], attn_k: [128, 256], attn_v: [128, 256], attn_output: [256, 256] };
const gated = { ffn_gate: [256, 256], ffn_up: [256, 256], ffn_down: [256, 256] };

async function writeModel(name: string, [vocabulary, width]: readonly [number, number] = large) {
  const next = random(3);
  const blocks = (tensor: string, shape: readonly number[]) => ({
    name: tensor,
    shape,
    format: 'tq2_0' as const,
    data: Uint8Array.from({ length: byteLength('tq2_0', shape) }, () => Math.floor(256 * next()) & 0xbf),
  });
  const path = scratch(name);
  await writeGguf(path, {
    metadata: {
      ...llamaMetadata,
      'llama.block_count': 1,
      'llama.embedding_length': 256,
      'llama.feed_forward_length': 256,
    },
    tensors: [
      blocks('token_embd.weight', [vocabulary, width]),
      ...Object.entries({ ...small, ...gated }).map(([part, shape]) => blocks(`blk.0.${part}.weight`, shape)),
      ...['blk.0.attn_norm', 'blk.0.ffn_norm', 'output_norm'].map((part) =>
        randomTensor(`${part}.weight`, [256]),
      ),
    ],
  });
  return path;
}

const threadsNow = () => (existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : Number.NaN);

/** A backend with two threads that reads dense weights and `formats`; it records its sources. */
async function recordingBackend(formats: readonly string[] = []) {
  const reference = await createBackend();
  const sources = new Map<string, WeightSource>();
  let mostThreads = 0;
  let live = 0;
  const backend: Backend = Object.create(reference, {
    profile: { value: { ...reference.profile, kind: 'cpu', threads: 2 } },
    quantGguf: { value: { formats: new Set(formats) } },
    loadWeight: {
      value: async (source: WeightSource): Promise<Partial<Weight>> => {
        sources.set(source.name, source);
        mostThreads = Math.max(mostThreads, threadsNow());
        live++;
        return { name: source.name, byteLength: 1, dispose: () => void live-- };
      },
    },
  });
  return { backend, sources, live: () => live, mostThreads: () => mostThreads };
}

test.each([[[]], [[iq8.name]]])(
  'decoding threads give the main thread’s bytes (backend reads %j)',
  async (formats) => {
    const { backend, sources, mostThreads } = await recordingBackend(formats);
    const file = await openModelFile(await writeModel('large.gguf'));
    const before = threadsNow();
    using _ = await loadLanguageModel(file, backend);
    for (const name of ['token_embd.weight', 'blk.0.attn_k.weight']) {
      const here = await decodedSource(backend, file.weights.tensors.get(name)!);
      const { bytes, ...rest } = sources.get(name)!;
      expect(rest).toMatchObject({ name: here.name, shape: here.shape, format: here.format });
      expect(Buffer.compare(bytes as Uint8Array, here.bytes as Uint8Array)).toBe(0);
      expect((bytes as Uint8Array).buffer).toBeInstanceOf(ArrayBuffer); // not shared
    }
    if (!Number.isNaN(before)) {
      expect(mostThreads()).toBeGreaterThan(before);
      expect(threadsNow()).toBeLessThanOrEqual(before);
    }
  },
);

test('a small model starts no thread', async () => {
  const { backend, mostThreads } = await recordingBackend();
  const file = await openModelFile(await writeModel('small.gguf', [512, 256]));
  const before = threadsNow();
  using _ = await loadLanguageModel(file, backend);
  if (!Number.isNaN(before)) expect(mostThreads()).toBeLessThanOrEqual(before);
});

test('a truncated file or an abort ends the threads with its error', async () => {
  const { backend, live } = await recordingBackend();
  const path = await writeModel('ending.gguf');
  const file = await openModelFile(path);
  const before = threadsNow();
  const controller = new AbortController();
  const { signal } = controller;
  const onProgress = () => controller.abort('enough');
  await expect(loadLanguageModel(file, backend, { signal, onProgress })).rejects.toMatchObject({
    name: 'AbortError',
    code: 'ABORTED',
    cause: 'enough',
  });
  truncateSync(path, 2 ** 21);
  await expect(loadLanguageModel(file, backend)).rejects.toMatchObject({
    name: 'FileError',
    code: 'TRUNCATED',
    path,
  });
  expect(live()).toBe(0);
  if (!Number.isNaN(before)) expect(threadsNow()).toBeLessThanOrEqual(before);
});
