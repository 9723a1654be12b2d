import { createBackend } from '@quern/backend-reference';
import { loadLanguageModel, openModelFile } from '../src/index.js';
import { cacheFor, runStep } from './run-model.js';
import { describeShared, readJson, shared } from './shared-data.js';

const bos = 1;

describeShared('llama-stories260K', 'a trained model', () => {
  test('generates llama2.c’s 200 tokens', async () => {
    using backend = await createBackend();
    using model = await loadLanguageModel(
      await openModelFile(shared('llama-stories260K', 'stories260K.gguf')),
      backend,
    );
    const expected: number[] = readJson(
      'llama-stories260K',
      'expected.json',
    ).token_ids_greedy_numpy_f32_check;
    using cache = cacheFor(model, expected.length + 1);
    const sequence = cache.sequence();
    const told: number[] = [];
    while (told.length < expected.length) {
      const [logits] = await runStep(model, cache, [{ sequence, ids: [told.at(-1) ?? bos] }], 'last');
      told.push(logits!.indexOf(Math.max(...logits!)));
    }
    expect(told).toEqual(expected);
  }, 120_000);
});
