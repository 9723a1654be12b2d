import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend, CapturedGraph } from '@quern/core';
import {
  type EncodedText,
  type EncoderModel,
  embedBackend,
  loadEncoder,
  openEncoderFile,
  openModelFile,
} from '../src/index.js';
import { testedBackends } from './backends.js';
import { describeShared, readJson, shared } from './shared-data.js';

/** The largest difference between two lists of numbers; Infinity for different lengths. */
const distance = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  a.length === b.length
    ? Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)))
    : Number.POSITIVE_INFINITY;

const tinyModel = (name: string) =>
  openEncoderFile(shared('tiny-hf', `tiny_${name}.safetensors`), {
    config: shared('tiny-hf', `tiny_${name}_config.json`),
  });

async function hiddenOf(model: EncoderModel, texts: readonly EncodedText[]): Promise<ArrayLike<number>> {
  using step = model.backend.step();
  return await step.read(model.hidden(step, texts));
}

for (const { name: on, slack, open } of await testedBackends())
  describeShared('tiny-hf', `encoders of transformers on ${on}`, () => {
    let backend: Backend;
    beforeAll(async () => {
      backend = await open();
    });
    afterAll(() => backend.dispose());

    test('bert: hidden states of one text, and of all in a ragged batch', async () => {
      using model = await loadEncoder(await tinyModel('bert'), backend);
      const golden = readJson('tiny-hf', 'tiny_bert_hidden.json');
      const texts: EncodedText[] = golden.sequences.map((ids: number[], i: number) => ({
        ids,
        secondPart: golden.token_types[i].indexOf(1),
      }));
      expect(distance(await hiddenOf(model, texts), golden.hidden.flat(2))).toBeLessThan(slack * 1e-5);
      for (const [i, text] of texts.entries())
        expect(distance(await hiddenOf(model, [text]), golden.hidden[i].flat())).toBeLessThan(slack * 1e-5);
    });

    // The golden's encoder also computed padding rows; only its mean excluded them.
    test('e5: mean of the real tokens, normalised to length 1', async () => {
      using model = await loadEncoder(await tinyModel('e5'), backend);
      const { sequences, real_tokens, embeddings } = readJson('tiny-hf', 'tiny_e5_embed.json');
      for (const [i, ids] of sequences.entries()) {
        using step = backend.step();
        const rows = backend.slice(model.hidden(step, [{ ids }]), 0, real_tokens[i]);
        const mean = backend.pool(rows, step.input(Int32Array.of(0, real_tokens[i])), { by: 'mean' });
        const embedding = await step.read(backend.l2Normalise(mean));
        expect(distance(embedding, embeddings[i])).toBeLessThan(slack * 1e-5);
      }
    });

    test.each(['tiny_bert', 'tiny_nomic'])(
      '%s, a folder: ragged batches equal single texts',
      async (name) => {
        const file = await openEncoderFile(shared('tiny-bert-hf-dir', name));
        expect(file.config).toMatchObject({ pooling: 'mean', layers: 2, width: 32, heads: 4 });
        using embedder = embedBackend(await loadEncoder(file, backend));
        const texts = [5, 1, 60, 17, 2].map((length) => ({
          ids: Array.from({ length }, (_, i) => (7 * i + length) % 256),
        }));
        const together = await embedder.embedBatch(texts);
        for (const [s, text] of texts.entries()) {
          const alone = await embedder.embedBatch([text]);
          expect(Math.hypot(...alone)).toBeCloseTo(1, 6);
          expect(distance(together.subarray(32 * s, 32 * (s + 1)), alone)).toBeLessThan(2e-6);
        }
      },
    );
  });

describeShared('tiny-hf', 'encoders: replicas, batches, refusals', () => {
  test('the last replica frees the weights', async () => {
    using backend = await createReference();
    const first = embedBackend(await loadEncoder(await tinyModel('bert'), backend));
    const second = first.replica();
    const before = await first.embedBatch([{ ids: [1, 2, 3] }]);
    first.dispose();
    first.dispose();
    expect(await second.embedBatch([{ ids: [1, 2, 3] }])).toEqual(before);
    second.dispose();
    await expect(second.embedBatch([{ ids: [1] }])).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  test('concurrent and sequential calls equal single calls', async () => {
    using backend = await createReference();
    using embedder = embedBackend(await loadEncoder(await tinyModel('bert'), backend));
    const texts = [1, 2, 3, 4].map((first) => ({ ids: [first, 5, 9] }));
    const expected: Float32Array[] = [];
    for (const text of texts) {
      using step = backend.step();
      using fresh = await loadEncoder(await tinyModel('bert'), backend);
      expected.push(Float32Array.from((await step.read(fresh.embed(step, [text]))) as Float32Array));
    }
    expect(await Promise.all(texts.map((text) => embedder.embedBatch([text])))).toEqual(expected);
    for (const [i, text] of texts.entries()) expect(await embedder.embedBatch([text])).toEqual(expected[i]);
    const aborted = embedder.embedBatch([texts[0]!], { signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await embedder.embedBatch([texts[0]!])).toEqual(expected[0]);
  });

  test('the second batch of a size is captured; captures are bounded in number and size', async () => {
    using backend = await createReference();
    const captured: CapturedGraph[] = [];
    const graph = backend.graph!;
    const capture = graph.capture.bind(graph);
    Object.assign(graph, {
      capture: async (...args: Parameters<typeof capture>) => {
        captured.push(await capture(...args));
        return captured.at(-1)!;
      },
    });
    using embedder = embedBackend(await loadEncoder(await tinyModel('bert'), backend));
    const batch = (count: number, first: number) =>
      Array.from({ length: count }, (_, i) => ({
        ids: Array.from({ length: 16 }, (_, j) => (first + i + 3 * j) % 11),
      }));
    const once = await embedder.embedBatch(batch(9, 1));
    expect(captured).toHaveLength(0);
    for (const first of [1, 2, 1]) {
      const again = await embedder.embedBatch(batch(9, first));
      if (first === 1) expect(again).toEqual(once);
      expect(captured).toHaveLength(1);
    }
    for (const count of [64, 63, 62, 61, 60])
      for (let times = 0; times < 2; times++) await embedder.embedBatch(batch(count, 1));
    expect(captured.map(({ disposed }) => disposed)).toEqual([true, true, false, false, false, false]);
    const whole = await embedder.embedBatch(batch(60, 1));
    const controller = new AbortController();
    const aborted = embedder.embedBatch(batch(60, 2), { signal: controller.signal });
    setImmediate(() => controller.abort()); // during the batch, which takes many turns of the event loop
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await embedder.embedBatch(batch(60, 1))).toEqual(whole);
    for (let times = 0; times < 2; times++) await embedder.embedBatch(batch(65, 1)); // above the limit of a step
    expect(captured).toHaveLength(6);
    embedder.dispose();
    expect(captured.every(({ disposed }) => disposed)).toBe(true);
  });

  test('no tokens, too many tokens, a missing classifier', async () => {
    using backend = await createReference();
    using embedder = embedBackend(await loadEncoder(await tinyModel('bert'), backend));
    expect(await embedder.embedBatch([])).toEqual(new Float32Array(0));
    await expect(embedder.embedBatch([{ ids: [] }])).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
    const ids = Array.from({ length: 17 }, () => 1);
    await expect(embedder.embedBatch([{ ids }])).rejects.toThrow('1 to 16 tokens');
    await expect(embedder.classifyBatch([{ ids: [1] }])).rejects.toMatchObject({ code: 'MISSING_WEIGHT' });
  });

  test('wrong kind of model: the error names the actual kind', async () => {
    await expect(openModelFile(shared('tiny-bert-hf-dir', 'tiny_bert'))).rejects.toThrow('is an encoder');
  });
});
