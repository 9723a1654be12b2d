// Trained models, whose text repeats like real text: speculation must not change any token.
import { fileURLToPath } from 'node:url';
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type GenerateOptions, loadModel, type Model } from '../../src/index.js';
import { cpuLevels, hasCpu } from '../backends.js';
import { expectedStory, hasSharedData, stories } from '../shared-data.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));
const greedy: GenerateOptions = { temperature: 0, maxTokens: 150 };
const lookup = { kind: 'lookup' } as const;

async function tellsTheStory(backend: Backend): Promise<void> {
  const { ids, text } = expectedStory();
  using model = await loadModel(stories, { backend, context: 256 });
  const options = { temperature: 0, maxTokens: ids.length, speculate: lookup };
  const story = await model.generate('', options).result;
  expect(story.tokens).toEqual(ids);
  expect(story.text).toBe(text);
  expect(story.draftedTokens).toBeGreaterThan(0);
}

const testShared = hasSharedData ? test : test.skip;

testShared(
  'llama2.c’s story, by lookup, on backend-reference',
  async () => {
    using backend = await createReference();
    await tellsTheStory(backend);
  },
  120_000,
);

const describeCpu = hasCpu ? describe : describe.skip;

describeCpu.each(cpuLevels)('on backend-cpu with %s', (isa) => {
  let backend: Backend;
  let model: Model;
  let draft: Model;

  beforeAll(async () => {
    const { createBackend } = await import('@quern/backend-cpu');
    backend = await createBackend({ isa });
    [model, draft] = [await loadModel(demo, { backend }), await loadModel(demo, { backend })];
  });

  afterAll(() => {
    model.dispose();
    draft.dispose();
    backend.dispose();
  });

  testShared('llama2.c’s story, by lookup', () => tellsTheStory(backend), 120_000);

  test.each(['Once upon a time', 'The fox ran. The fox ran. The', 'A'])(
    'the demo model after %j: lookup and draft model do not change the text',
    async (prompt) => {
      const want = await model.generate(prompt, greedy).result;
      const ways = [lookup, { kind: 'draft', model: draft, maxDraft: 5, adaptive: false }] as const;
      for (const speculate of ways) {
        const got = await model.generate(prompt, { ...greedy, speculate }).result;
        expect(got).toMatchObject({ tokens: want.tokens, text: want.text, reason: want.reason });
        if (speculate.kind === 'draft') expect(got.acceptedTokens).toBe(got.draftedTokens);
        else expect(got.acceptedTokens).toBeLessThanOrEqual(got.draftedTokens);
      }
    },
    120_000,
  );

  test('sampling with lookup: equal seeds give equal tokens', async () => {
    const sampled = { seed: 4, maxTokens: 150, temperature: 0.7 };
    const want = await model.generate('The fox', sampled).result;
    const got = await model.generate('The fox', { ...sampled, speculate: lookup }).result;
    expect(got.tokens).toEqual(want.tokens);
    expect(got.draftedTokens).toBeGreaterThan(0);
  });
});
