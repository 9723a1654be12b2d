// One model on several backends: the tokens of one backend, for every split; errors free everything.
import { fileURLToPath } from 'node:url';
import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend as createReference, referenceDriver } from '@quern/backend-reference';
import { type Backend, defineBackend } from '@quern/core';
import { type GenerateOptions, type LoadOptions, loadModel, type Model } from '../../src/index.js';
import { countingBackend, hasCpu } from '../backends.js';
import { tiny, writeTinyModel } from '../tiny-model.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));

const greedy: GenerateOptions = { maxTokens: 12, temperature: 0, ignoreEos: true };
const sampled: GenerateOptions = { maxTokens: 12, temperature: 1.2, topK: 40, seed: 7, ignoreEos: true };

const tokensOf = async (model: Model, prompt: string, options: GenerateOptions) =>
  (await model.generate(prompt, options).result).tokens;

/** A model's output in every way of the runtime: alone, in a batch, in a session, speculating. */
async function answersOf(path: string, options: LoadOptions) {
  using model = await loadModel(path, { sequences: 4, ...options });
  const prompts = ['the cat', 'a dog and', 'it'];
  const together = await Promise.all(prompts.map((prompt) => tokensOf(model, prompt, greedy)));
  using session = model.session();
  await session.generate('the end', { ...greedy, maxTokens: 4 }).result;
  const speculate = { kind: 'lookup', maxDraft: 3 } as const;
  return {
    backend: model.backend,
    layers: model.config.layers,
    answers: {
      greedy: await tokensOf(model, 'the cat', greedy),
      sampled: await tokensOf(model, 'the cat', sampled),
      penalised: await tokensOf(model, 'the cat', { ...sampled, repetitionPenalty: 1.3 }),
      speculated: await tokensOf(model, 'a a a a a a', { ...greedy, speculate }),
      together,
      session: (await session.generate('the end of it', greedy).result).tokens,
    },
    logits: await model.logits(model.tokenize('the cold end of a cat')),
  };
}

const errorOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );

describe('two backends of plain TypeScript', () => {
  let path: string;
  let whole: Awaited<ReturnType<typeof answersOf>>;
  const two: [Backend, Backend] = [undefined!, undefined!];
  beforeAll(async () => {
    path = await writeTinyModel();
    two[0] = await createReference();
    two[1] = await createReference();
    whole = await answersOf(path, { backend: two[0] });
  });
  afterAll(() => {
    for (const backend of two) backend.dispose();
  });

  test.each<[string, LoadOptions]>([
    ['captured steps', {}],
    ['recorded steps', { graph: false }],
    ['a paged cache and prompts in chunks', { blockSize: 4, prefillChunk: 2 }],
    ['a requested split', { split: '0,1' }],
  ])('equal one backend bit for bit, with %s', async (_, options) => {
    const split = await answersOf(path, { backend: two, ...options });
    expect(split.answers).toEqual(whole.answers);
    expect(split.logits).toEqual(whole.logits);
    expect(split.backend).toBe('reference#1,reference#2');
  });

  test('the plan has a range per backend, and reasons', async () => {
    using model = await loadModel(path, { backend: two });
    expect(model.plan.ranges).toMatchObject([
      { backend: 'reference#1', firstLayer: 0, endLayer: 1 },
      { backend: 'reference#2', firstLayer: 1, endLayer: 2 },
    ]);
    expect(model.plan.reasons).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^layer 0 on 'reference#1' /),
        expect.stringMatching(/^layer 1 on 'reference#2' /),
      ]),
    );
  });

  test('an abort between the parts removes the tokens; the model stays usable', async () => {
    using model = await loadModel(path, { backend: two });
    const controller = new AbortController();
    const generation = model.generate('the cat', { ...greedy, maxTokens: 60, signal: controller.signal });
    for await (const _ of generation) controller.abort();
    expect((await generation.result).reason).toBe('abort');
    expect(await tokensOf(model, 'the cat', greedy)).toEqual(whole.answers.greedy);
  });

  test('the caller keeps an instance; the model frees its memory on both', async () => {
    const [a, b] = [countingBackend(), countingBackend()];
    const model = await loadModel(path, { backend: [a.backend, b.backend] });
    await tokensOf(model, 'the cat', greedy);
    expect(a.live().weights).toBeGreaterThan(0);
    expect(b.live().weights).toBeGreaterThan(0);
    model.dispose();
    for (const { live, backend } of [a, b]) {
      expect(live()).toEqual({ buffers: 0, weights: 0 });
      expect(backend.freeMemory()).toBeGreaterThan(0);
      backend.dispose();
    }
  });
});

const onCpu = hasCpu ? describe : describe.skip;

onCpu('backend-cpu', () => {
  test('with reference: the tokens of either alone', async () => {
    const path = await writeTinyModel();
    const onCpuAlone = await answersOf(path, { backend: 'cpu' });
    const onReference = await answersOf(path, { backend: 'reference' });
    const split = await answersOf(path, { backend: 'cpu,reference', split: '0,1', threads: 1 });
    expect(split.backend).toBe('cpu,reference');
    expect(split.answers).toEqual(onCpuAlone.answers);
    expect(split.answers).toEqual(onReference.answers);
    const other = await answersOf(path, { backend: ['reference', 'cpu'] });
    expect(other.answers).toEqual(onReference.answers);
  });

  test('twice, with half of the threads each: equal to one, bit for bit', async () => {
    const whole = await answersOf(demo, { backend: 'cpu', threads: 2, backendOptions: { isa: 'scalar' } });
    const halves = [
      await createCpu({ threads: 1, isa: 'scalar' }),
      await createCpu({ threads: 1, isa: 'scalar' }),
    ];
    const last = whole.layers - 1;
    for (const split of [undefined, `0,1-${last}`, `0-${last - 1},${last}`]) {
      const { answers, logits, backend } = await answersOf(demo, { backend: halves, split });
      expect(backend).toBe('cpu#1,cpu#2');
      expect(answers).toEqual(whole.answers);
      expect(logits).toEqual(whole.logits);
    }
    for (const backend of halves) backend.dispose();
  });

  test('options of several backends, by name', async () => {
    const path = await writeTinyModel();
    using model = await loadModel(path, {
      backend: 'cpu,reference',
      backendOptions: { cpu: { isa: 'scalar' } },
    });
    expect(model.plan.reasons.join()).toMatch(/'cpu' \(.*, scalar, /);
  });
});

describe('impossible splits', () => {
  let path: string;
  beforeAll(async () => {
    path = await writeTinyModel();
  });
  const refusal = (options: LoadOptions) => errorOf(loadModel(path, options));

  test.each<[LoadOptions, RegExp]>([
    [
      { backend: 'reference,reference' },
      /^BAD_OPTION: backend names 'reference', 'reference' twice: .* instances/,
    ],
    [{ backend: 'reference,@quern/backend-reference' }, /^BAD_OPTION: backend names 'reference' twice: /],
    [{ backend: 'auto,reference' }, /^BAD_OPTION: backend is 'auto', 'reference': 'auto' chooses by itself/],
    [{ split: '0,1' }, /^BAD_OPTION: split says which layers each backend computes: name the backends too/],
    [{ backend: 'reference', split: '0,1' }, /^BAD_OPTION: the split 0,1 has 2 ranges for 1 backend/],
    [{ backend: 'reference', split: '1-0' }, /^BAD_OPTION: split is '1-0', and '1-0' is no range of layers/],
    [{ backend: 'reference', split: 'all' }, /^BAD_OPTION: split is 'all', and 'all' is no range of layers/],
    [
      { backend: 'reference', split: '0' },
      /^BAD_OPTION: the split 0 is not possible: layer 1 is in no range$/,
    ],
    [
      { backend: 'reference', split: '0-7' },
      /^BAD_OPTION: the split 0-7 is not possible: the range 0-7 goes beyond the model's layers, 0-1$/,
    ],
    [{ backend: ['reference', 'nobody'] }, /^BACKEND_NOT_FOUND: there is no backend 'nobody'/],
    [{ backend: [] as string[] }, /^BAD_OPTION: .*with 1 at least/],
    [{ backend: 'reference,', split: '0,1' }, /^BAD_OPTION: backend is ''/],
  ])('%j', async (options, expected) => {
    expect(await refusal(options)).toMatch(expected);
  });

  test('overlapping ranges, options of a backend that is not named, an instance twice', async () => {
    const [a, b] = [countingBackend(), countingBackend()];
    const backend = [a.backend, b.backend];
    expect(await refusal({ backend, split: '0-1,1' })).toBe(
      'BAD_OPTION: the split 0-1,1 is not possible: the range 1 overlaps the range before it, which ends at 1',
    );
    expect(await refusal({ backend: [a.backend, a.backend] })).toMatch(
      /^BAD_OPTION: backend names an instance twice/,
    );
    expect(await refusal({ backend: ['reference', b.backend], backendOptions: { cpu: {} } })).toMatch(
      /^BAD_OPTION: backendOptions of several backends are keyed by name: 'cpu' is not among 'reference'/,
    );
    expect([a.live(), b.live()]).toEqual(Array(2).fill({ buffers: 0, weights: 0 }));
  });

  test('a cache dtype that one backend lacks', async () => {
    const driver = referenceDriver();
    const { kvQuant, ...capabilities } = driver.capabilities!;
    using plain = defineBackend({ ...driver, name: 'plain', capabilities });
    const { backend, live } = countingBackend();
    expect(await refusal({ backend: [backend, plain], cacheDtype: 'int8' })).toBe(
      "UNSUPPORTED: backend 'plain' has no int8 cache; it has f32, f16",
    );
    expect(live()).toEqual({ buffers: 0, weights: 0 });
    backend.dispose();
  });

  test('too little memory on one: the error names the layers; the other frees everything', async () => {
    const [roomy, tight] = [countingBackend(), countingBackend(20_000)];
    expect(await refusal({ backend: [roomy.backend, tight.backend], split: '0,1' })).toMatch(
      /^MODEL_TOO_LARGE: too large for 'reference#2', layer 1: .* 20.0 kB that are free/,
    );
    expect(roomy.live()).toEqual({ buffers: 0, weights: 0 });
  });
});

describe('a device that fails', () => {
  /** The reference backend; its feed-forward fails from call number `after` on. */
  function failing(after: number): Backend {
    const driver = referenceDriver();
    let calls = 0;
    return defineBackend({
      ...driver,
      name: 'failing',
      kernels: {
        ...driver.kernels,
        swiglu(...args) {
          if (calls++ >= after) throw new Error('the device has gone');
          return driver.kernels.swiglu!(...args);
        },
      },
    });
  }

  test.each([
    ['in a prompt', 0],
    ['during decoding', 4],
  ])('%s: DEVICE_FAILED; the other backend frees everything and stays usable', async (_, after) => {
    const path = await writeTinyModel();
    const other = countingBackend();
    using gone = failing(after);
    const model = await loadModel(path, { backend: [other.backend, gone] });
    expect(await errorOf(tokensOf(model, 'the cat', greedy))).toMatch(
      /^DEVICE_FAILED: .*'failing'.*the device has gone/s,
    );
    expect(model.freeBlocks).toBe(model.stats().blocks); // the sequence is free
    expect(await errorOf(tokensOf(model, 'the cat', greedy))).toMatch(/^DEVICE_FAILED/);
    model.dispose();
    expect(other.live()).toEqual({ buffers: 0, weights: 0 });
    using again = await loadModel(path, { backend: other.backend });
    expect(await tokensOf(again, 'the cat', greedy)).toHaveLength(greedy.maxTokens!);
    again.dispose();
    other.backend.dispose();
  });

  test('during loading: the other backend’s weights and caches are freed', async () => {
    const path = await writeTinyModel();
    const other = countingBackend();
    const driver = referenceDriver();
    let left = 3;
    using gone = defineBackend({
      ...driver,
      name: 'failing',
      async loadWeight(source) {
        if (left-- === 0) throw new Error('no power');
        return driver.loadWeight(source);
      },
    });
    const loading = loadModel(path, { backend: [other.backend, gone] });
    expect(await errorOf(loading)).toMatch(/^DEVICE_FAILED: .*no power/s);
    expect(other.live()).toEqual({ buffers: 0, weights: 0 });
    other.backend.dispose();
  });
});

test('the tiny model has the two layers of these splits', () => expect(tiny.layers).toBe(2));
