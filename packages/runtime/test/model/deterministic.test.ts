// The same call gives the same text, whatever the cache holds and whatever runs beside it.
import { fileURLToPath } from 'node:url';
import { type GenerateOptions, loadModel } from '../../src/index.js';
import { hasCpu } from '../backends.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));
const prefix = 'Once upon a time there was a fox who lived in a small house by the river with a friend. ';
const options: GenerateOptions = { maxTokens: 40, temperature: 1.2, topK: 0, topP: 1, minP: 0, seed: 7 };

test.each(hasCpu ? ['cpu'] : ['reference'])('deterministic, on %s', async (backend) => {
  using model = await loadModel(demo, {
    backend,
    deterministic: true,
    context: 256,
    sequences: 4,
    onNotice: () => {},
  });
  const tell = (end = 'One day', more: GenerateOptions = {}) =>
    model.generate(prefix + end, { ...options, ...more }).result;
  const first = await tell();
  await tell('The fox said', { maxTokens: 5 });
  const afterOthers = await tell();
  const others = Array.from({ length: 5 }, (_, i) => tell(`Then ${i}`, { seed: i }));
  const beside = await tell();
  await Promise.all(others);
  for (const { tokens, cachedTokens } of [afterOthers, beside]) {
    expect(tokens).toEqual(first.tokens);
    expect(cachedTokens).toBe(0);
  }
});
