import { fileURLToPath } from 'node:url';
import { referenceDriver } from '@quern/backend-reference';
import { type Backend, BackendError, type CapturedGraph, defineBackend } from '@quern/core';
import { cases } from '../../../../test-scope.js';
import { type GenerateOptions, type LoadOptions, loadModel, type Model } from '../../src/index.js';
import { cpuLevels, hasCpu } from '../backends.js';
import { writeTinyModel } from '../tiny-model.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));

const greedy: GenerateOptions = { temperature: 0, ignoreEos: true };
const sampled: GenerateOptions = { temperature: 1.5, ignoreEos: true };

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The reference backend; records the rows of each decode step, and calls back during a step. */
function watchedBackend() {
  const driver = referenceDriver();
  const steps: number[] = [];
  const graphs: CapturedGraph[] = [];
  const watch = { steps, graphs, duringStep: (_rows: number): void => {} };
  let embedded = { rows: 0, vocabulary: 0 };
  /** The product that gives logits; a decode step has them of all its rows. */
  const watchHead = async (rows: number, vocabulary: number) => {
    if (vocabulary !== embedded.vocabulary) return;
    await nextTurn(); // like a real device
    if (rows !== embedded.rows) return;
    steps.push(rows);
    watch.duringStep(rows);
  };
  const backend = defineBackend({
    ...driver,
    kernels: {
      ...driver.kernels,
      embed(operands, attributes, outputs) {
        embedded = { rows: operands.ids!.shape[0]!, vocabulary: operands.table!.shape[0]! };
        return driver.kernels.embed(operands, attributes, outputs);
      },
      async linear(operands, attributes, outputs) {
        await watchHead(operands.x!.shape[0]!, operands.w!.shape[0]!);
        return driver.kernels.linear(operands, attributes, outputs);
      },
    },
  });
  const { graph } = backend as Backend & Required<Pick<Backend, 'graph'>>;
  Object.assign(backend, {
    graph: {
      async capture(...captured: Parameters<typeof graph.capture>) {
        graphs.push(await graph.capture(...captured));
        return graphs.at(-1);
      },
    },
  });
  return { backend, watch };
}

const words = ['the', 'a', 'cat', 'dog', 'cold', 'end', 'of', 'it'];

/** Calls with different prompts and lengths. */
const calls = (count: number, options: (i: number) => GenerateOptions) =>
  Array.from({ length: count }, (_, i) => ({
    prompt: words.slice(0, 1 + (i % words.length)).join(' '),
    options: { maxTokens: 8 + (i % 4), ...options(i) },
  }));

type Calls = ReturnType<typeof calls>;

const tokensOf = async (model: Model, { prompt, options }: Calls[number]) =>
  (await model.generate(prompt, options).result).tokens;

async function oneByOne(model: Model, all: Calls) {
  const tokens = [];
  for (const call of all) tokens.push(await tokensOf(model, call));
  return tokens;
}

const together = (model: Model, all: Calls) => Promise.all(all.map((call) => tokensOf(model, call)));

let path: string;

beforeAll(async () => {
  path = await writeTinyModel();
});

describe('sequences decode together, equal to single sequences', () => {
  const mixed = (i: number) => (i % 2 ? greedy : { ...sampled, seed: i });
  const kinds: readonly (readonly [string, LoadOptions, (i: number) => GenerateOptions])[] = [
    ['greedy', {}, () => greedy],
    ['sampled', {}, (i) => ({ ...sampled, seed: i })],
    ['greedy and sampled', {}, mixed],
    ['in blocks', { blockSize: 4 }, mixed],
    ['recorded', { graph: false }, mixed],
  ];

  test.each(cases(kinds, kinds.slice(2)))('%s', async (_, load, options) => {
    const { backend, watch } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend, sequences: 20, ...load });
    const all = calls(6, options);
    const alone = await oneByOne(model, all);
    watch.steps.length = 0;
    expect(await together(model, all)).toEqual(alone);
    expect(watch.steps).toContain(6);
    // The longest text needs 10 steps, plus 1 or 2 before all six prompts are done. One text after another: 49.
    expect(watch.steps.length).toBeLessThan(15);
    using fresh = await loadModel(path, { backend, sequences: 20, ...load });
    expect(model.freeBlocks).toBe(fresh.freeBlocks);
  });

  test('more sequences than have captured steps of their own', async () => {
    const { backend, watch } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend, sequences: 21 });
    const all = calls(21, () => ({ ...greedy, maxTokens: 12 }));
    const alone = await oneByOne(model, all);
    expect(await together(model, all)).toEqual(alone);
    expect(watch.steps).toContain(24); // three idle rows
  });

  test('a paged cache too small for all: some wait, none fails', async () => {
    const { backend } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend, blockSize: 4, context: 48 });
    const all = calls(6, () => greedy);
    const alone = await oneByOne(model, all);
    const free = model.freeBlocks;
    expect(await together(model, all)).toEqual(alone);
    expect(model.freeBlocks).toBe(free);
  });

  test('one sequence alone: one step per token', async () => {
    const { backend, watch } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend });
    await model.generate('the cat', { ...greedy, maxTokens: 10 }).result;
    expect(watch.steps).toEqual(new Array(9).fill(1));
  });
});

describe('failures within a batch', () => {
  test('an abort during a step ends one sequence; the others are unchanged', async () => {
    const { backend, watch } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend, sequences: 4 });
    const abort = new AbortController();
    const all = calls(4, (i) => ({ ...greedy, ...(i === 2 && { signal: abort.signal }) }));
    const alone = await oneByOne(model, all);
    let steps = 0;
    watch.duringStep = (rows) => {
      if (rows === 4 && ++steps === 3) abort.abort();
    };
    const results = await Promise.all(
      all.map(({ prompt, options }) => model.generate(prompt, options).result),
    );
    expect(results.map(({ reason }) => reason)).toEqual(['length', 'length', 'abort', 'length']);
    for (const [i, { tokens }] of results.entries())
      expect(tokens).toEqual(alone[i]!.slice(0, tokens.length));
    expect(results[2]!.tokens.length).toBeLessThan(alone[2]!.length);
    expect(model.freeBlocks).toBe(model.stats().blocks);
  });

  test('an abort before a step: the step has no row for it', async () => {
    const { backend, watch } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend, sequences: 2 });
    const readers = [new AbortController(), new AbortController()].map((abort) => ({
      abort,
      reader: model.generate('the cat', { ...greedy, signal: abort.signal })[Symbol.asyncIterator](),
    }));
    for (const { reader } of readers) await reader.next();
    watch.steps.length = 0;
    const both = readers.map(({ reader }) => reader.next());
    readers[1]!.abort.abort();
    expect(await both[1]).toMatchObject({ done: true });
    expect(await both[0]).toMatchObject({ done: false });
    expect(new Set(watch.steps)).toEqual(new Set([1]));
    await readers[0]!.reader.return?.();
  });

  test('a sequence that may choose no token fails alone', async () => {
    const { backend } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend, sequences: 3 });
    const nothing = new Map(Array.from({ length: model.config.vocabulary }, (_, id) => [id, -Infinity]));
    const all = calls(3, (i) => ({ ...greedy, ...(i === 1 && { logitBias: nothing }) }));
    const [first, , third] = [await tokensOf(model, all[0]!), 0, await tokensOf(model, all[2]!)];
    const results = await Promise.allSettled(all.map((call) => tokensOf(model, call)));
    expect(results[0]).toMatchObject({ value: first });
    expect(results[1]).toMatchObject({ reason: { code: 'BAD_OPTION' } });
    expect(results[2]).toMatchObject({ value: third });
    expect(model.freeBlocks).toBe(model.stats().blocks);
  });

  test('a failed step rejects all its sequences; the model stays usable', async () => {
    const { backend, watch } = watchedBackend();
    using _backend = backend;
    using model = await loadModel(path, { backend, sequences: 3 });
    const all = calls(3, () => greedy);
    const alone = await oneByOne(model, all);
    watch.duringStep = (rows) => {
      if (rows === 3) throw new BackendError('DEVICE_FAILED', 'the device is gone');
    };
    for (const result of await Promise.allSettled(all.map((call) => tokensOf(model, call))))
      expect(result).toMatchObject({ reason: { code: 'DEVICE_FAILED' } });
    expect(model.freeBlocks).toBe(model.stats().blocks);
    watch.duringStep = () => {};
    expect(await together(model, all)).toEqual(alone);
  });

  test('disposing during a step ends all sequences', async () => {
    const { backend, watch } = watchedBackend();
    using _backend = backend;
    const model = await loadModel(path, { backend, sequences: 4 });
    watch.duringStep = (rows) => {
      if (rows === 4) model.dispose();
    };
    const all = calls(4, () => greedy);
    for (const result of await Promise.allSettled(all.map((call) => tokensOf(model, call))))
      expect(result).toMatchObject({
        reason: { name: 'RuntimeError', code: 'DISPOSED', message: `the model ${path} has been disposed` },
      });
  });
});

test('captured steps are kept up to a limit; disposing the model frees all', async () => {
  const { backend, watch } = watchedBackend();
  using _backend = backend;
  const model = await loadModel(path, { backend, sequences: 24 });
  // The last two sequences end together: one left alone would also chain, by another kind of captured step.
  const windingDown = (options: GenerateOptions) =>
    calls(24, (i) => ({ ...options, maxTokens: 3 + 2 * Math.min(i, 22) }));
  await together(model, windingDown(greedy));
  await together(model, windingDown({ ...sampled, seed: 1 }));
  const kept = watch.graphs.filter(({ disposed }) => !disposed);
  expect(kept.length).toBeGreaterThan(16);
  expect(kept.length).toBeLessThan(watch.graphs.length); // up to 300 rows of each kind of decoding; at most 264 are kept
  model.dispose();
  expect(watch.graphs.filter(({ disposed }) => !disposed)).toEqual([]);
});

const describeCpu = hasCpu ? describe : describe.skip;

describeCpu.each(cpuLevels)('the demo model on backend-cpu with %s', (isa) => {
  test.each([4, 8])(
    '%d greedy texts together equal single texts',
    async (count) => {
      const { createBackend } = await import('@quern/backend-cpu');
      using backend = await createBackend({ isa });
      using model = await loadModel(demo, { backend, context: 256, sequences: count });
      const prompt = model.tokenize('Once upon a time there was a little');
      const all = Array.from({ length: count }, (_, i) => ({
        prompt: model.detokenize(prompt.slice(0, 2 + i)),
        options: { ...greedy, maxTokens: 40 + i },
      }));
      const alone = await oneByOne(model, all);
      const before = backend.kernelRuns();
      expect(await together(model, all)).toEqual(alone);
      const steps = backend.kernelRuns().embed! - before.embed!;
      expect(steps).toBeLessThan(count * 2 + 60); // one after another: more than 40 steps per text
    },
    120_000,
  );

  test.each<[string, GenerateOptions]>([
    ['greedy', greedy],
    ['drawn', { ...sampled, temperature: 1, seed: 5 }],
    ['drafted', { ...greedy, speculate: { kind: 'lookup' } }],
  ])(
    'deterministic, %s: preempted texts equal single texts',
    async (_, options) => {
      const { createBackend } = await import('@quern/backend-cpu');
      using backend = await createBackend({ isa });
      const small = { blockSize: 16, context: 176, sequences: 2 } as const;
      using model = await loadModel(demo, { backend, deterministic: true, onNotice: () => {}, ...small });
      const all = Array.from({ length: 10 }, (_, i) => ({
        prompt: `Story ${i}`,
        options: { ...options, maxTokens: 150 },
      }));
      const alone = await oneByOne(model, all);
      expect(await together(model, all)).toEqual(alone);
      expect(model.stats().preemptions).toBeGreaterThan(0);
    },
    600_000, // minutes with emulated instructions
  );
});
