import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { cases, exhaustive, isDrawn } from '../../../../test-scope.js';
import { type LoadOptions, loadModel } from '../../src/index.js';
import { cpuLevels, hasCpu } from '../backends.js';
import { expectedStory, hasSharedData, stories } from '../shared-data.js';

const allVariants: readonly (readonly [name: string, options: LoadOptions])[] = [
  ['one block per sequence, replayed', { blockSize: 256 }],
  ['f32 cache, recorded', { cacheDtype: 'f32', graph: false }],
  ['blocks of 16, replayed', {}],
  ['f32 cache in blocks of 32, recorded', { blockSize: 32, cacheDtype: 'f32', graph: false }],
];
const variants = cases(allVariants, [allVariants[2]!, allVariants[3]!]);

const context = 256; // trained for 128 tokens; the test generates 200

/** The whole story from its first token. */
async function tellStory(backend: Backend, options: LoadOptions): Promise<void> {
  const { ids, text } = expectedStory();
  using model = await loadModel(stories, { ...options, backend, context });
  const story = await model.generate('', { temperature: 0, maxTokens: ids.length }).result;
  expect(story.tokens).toEqual(ids);
  expect(story.text).toBe(text);
}

/** The end of the story, after most of it as a prompt in chunks. */
async function endStory(backend: Backend, options: LoadOptions): Promise<void> {
  const { ids } = expectedStory();
  const told = 180;
  using model = await loadModel(stories, { ...options, backend, context });
  const prompt = [1, ...ids.slice(0, told)];
  const end = await model.generate(prompt, { temperature: 0, maxTokens: ids.length - told }).result;
  expect(end.tokens).toEqual(ids.slice(told));
}

/** Ends of the story from several places at once: a ragged batch. */
async function tellStories(backend: Backend, options: LoadOptions): Promise<void> {
  const { ids } = expectedStory();
  const told = [150, 165, 180];
  using model = await loadModel(stories, { ...options, backend, context, sequences: told.length });
  const ends = told.map((from) => {
    const maxTokens = ids.length - from;
    return model.generate([1, ...ids.slice(0, from)], { temperature: 0, maxTokens }).result;
  });
  for (const [i, { tokens }] of (await Promise.all(ends)).entries())
    expect(tokens).toEqual(ids.slice(told[i]));
}

const chunks = cases([1, 7, 64], [7]);
const describeShared = hasSharedData ? describe : describe.skip;

describeShared('200 greedy tokens of a trained model, on backend-reference', () => {
  test.each(variants)(
    '%s',
    async (_, options) => {
      using backend = await createReference();
      await tellStory(backend, options);
    },
    120_000,
  );

  test.each(chunks)(
    'prompt in chunks of %d',
    async (prefillChunk) => {
      using backend = await createReference();
      await endStory(backend, { prefillChunk, cacheDtype: 'f32' });
    },
    120_000,
  );
});

const describeCpu = hasSharedData && hasCpu ? describe : describe.skip;

describeCpu.each(cpuLevels)('200 greedy tokens of a trained model, on backend-cpu with %s', (isa) => {
  const onCpu = async (run: (backend: Backend) => Promise<void>) => {
    const { createBackend } = await import('@quern/backend-cpu');
    using backend = await createBackend({ isa });
    await run(backend);
  };

  test.each(variants)('%s', (_, options) => onCpu((backend) => tellStory(backend, options)), 120_000);

  test.each(chunks)(
    'prompt in chunks of %d',
    (prefillChunk) => onCpu((backend) => endStory(backend, { prefillChunk })),
    120_000,
  );
});

const describeEmulated = hasSharedData && exhaustive ? describe : describe.skip;

const emulated = ['cuda', 'metal'].filter((_, i) => isDrawn(i as 0 | 1));

describeEmulated.each(emulated)('200 greedy tokens of a trained model, on an emulated GPU: %s', (name) => {
  const onGpu = async (run: (backend: Backend) => Promise<void>) => {
    await import(`../../../backend-${name}/test/emulated.js`);
    const { createBackend } = await import(`../../../backend-${name}/src/index.js`);
    using backend = await createBackend();
    await run(backend);
  };

  test(allVariants[0]![0], () => onGpu((backend) => tellStory(backend, allVariants[0]![1])), 300_000);

  test(
    `the end alone, ${allVariants[3]![0]}`,
    () => onGpu((backend) => endStory(backend, allVariants[3]![1])),
    300_000,
  );

  test(
    'three at once, paged cache, replayed',
    () => onGpu((backend) => tellStories(backend, allVariants[2]![1])),
    300_000,
  );

  test('prompt in chunks of 7', () => onGpu((backend) => endStory(backend, { prefillChunk: 7 })), 300_000);
});
