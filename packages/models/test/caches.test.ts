import { createBackend } from '@quern/backend-reference';
import { type Backend, need } from '@quern/core';
import { type LanguageModel, loadLanguageModel, openModelFile } from '../src/index.js';
import { cacheFor, distance, kvOptions, runStep, sequenceLogits } from './run-model.js';
import { describeShared, goldens, shared } from './shared-data.js';

const models = ['tiny_llama', 'tiny_qwen2', 'tiny_qwen3'];
const equal = 1e-6; // every op stores f32, in every batch

describeShared('tiny-hf', 'the logits do not depend on the chunks', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createBackend();
  });
  afterAll(() => backend.dispose());

  const load = async (name: string): Promise<LanguageModel> => {
    const config = shared('tiny-hf', `${name}_config.json`);
    return loadLanguageModel(
      await openModelFile(shared('tiny-hf', `${name}.safetensors`), { config }),
      backend,
    );
  };

  describe.each(models)('%s', (name) => {
    const { sequences } = goldens(`${name}_logits.json`);
    const ids = sequences[0]!;

    test.each([1, 3])('in chunks of %i', async (chunk) => {
      using model = await load(name);
      expect(
        distance(await sequenceLogits(model, ids, chunk), await sequenceLogits(model, ids)),
      ).toBeLessThan(equal);
    });

    test.each([1, 4, 16])('in a paged cache with blocks of %i', async (blockSize) => {
      using model = await load(name);
      need(backend, 'pagedKv');
      const blocks = Math.ceil(ids.length / blockSize);
      const paged = backend.pagedKv.createCache({
        ...kvOptions(model.config, ids.length),
        blocks,
        blockSize,
      });
      expect(
        distance(await sequenceLogits(model, ids, 3, paged), await sequenceLogits(model, ids)),
      ).toBeLessThan(equal);
    });

    test('two sequences of different lengths in one batch, prefill and decode', async () => {
      using model = await load(name);
      const [a, b] = [sequences[0]!, sequences[1]!];
      const [aloneA, aloneB] = [await sequenceLogits(model, a), await sequenceLogits(model, b)];
      using cache = cacheFor(model, 16, 2);
      const [first, second] = [cache.sequence(), cache.sequence()];
      const mixed = await runStep(model, cache, [
        { sequence: first, ids: a.slice(0, 9) },
        { sequence: second, ids: b.slice(0, 4) },
      ]);
      expect(distance(mixed, [...aloneA.slice(0, 9), ...aloneB.slice(0, 4)])).toBeLessThan(equal);
      const last = await runStep(
        model,
        cache,
        [
          { sequence: first, ids: a.slice(9, 10) },
          { sequence: second, ids: b.slice(4, 9) },
        ],
        'last',
      );
      expect(distance(last, [aloneA[9]!, aloneB[8]!])).toBeLessThan(equal);
    });
  });
});
