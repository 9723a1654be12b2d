import { createBackend, referenceDriver } from '@quern/backend-reference';
import { defineBackend } from '@quern/core';
import { loadModel, planModel } from '../../src/index.js';
import { makeApplication } from '../application.js';
import { countingBackend } from '../backends.js';
import { writeTinyModel } from '../tiny-model.js';

test('the plan of loadModel, and nothing is loaded', async () => {
  const path = await writeTinyModel();
  const { backend, live } = countingBackend();
  const options = { backend, context: 32, sequences: 2, cacheDtype: 'f32' } as const;
  const plan = await planModel(path, options);
  expect([live(), backend.disposed]).toEqual([{ buffers: 0, weights: 0 }, false]);
  using model = await loadModel(path, options);
  expect({ ...plan, memory: undefined, ranges: undefined }).toEqual({
    ...model.plan,
    memory: undefined,
    ranges: undefined,
  });
  expect(plan.memory.weights).toBe(model.plan.memory.weights);
  backend.dispose();
});

test('an abort before the backends are tried, and while they are', async () => {
  const path = await writeTinyModel();
  const abort = new AbortController();
  const driver = referenceDriver();
  const freeMemory = () => {
    abort.abort('on purpose');
    return driver.freeMemory();
  };
  using backend = defineBackend({ ...driver, freeMemory });
  const aborted = { code: 'ABORTED', message: 'planning was aborted', cause: 'on purpose' };
  await expect(planModel(path, { backend, signal: abort.signal })).rejects.toMatchObject(aborted);
  const noBackend = { resolveFrom: makeApplication({}), signal: abort.signal };
  await expect(planModel(path, noBackend)).rejects.toMatchObject(aborted);
});

test('without a backend, and with a split that cannot be', async () => {
  const path = await writeTinyModel();
  const resolveFrom = makeApplication({});
  await expect(planModel(path, { resolveFrom })).rejects.toMatchObject({ code: 'NO_BACKEND' });
  using backend = await createBackend();
  await expect(planModel(path, { backend, split: '0' })).rejects.toMatchObject({ code: 'BAD_OPTION' });
});

test.each([
  [{ context: 17, sequences: 5 }, 10, 160],
  [{ context: 32, sequences: 3 }, 6, 96],
  [{ context: 20, sequences: 3, blockSize: 8 }, 9, 72],
  [{ context: 20, sequences: 3, blockSize: 65536 }, 3, 60],
])('%j: the plan counts the blocks of the cache', async (options, blocks, room) => {
  using backend = await createBackend();
  using model = await loadModel(await writeTinyModel(), { backend, ...options });
  expect([model.stats().blocks, model.plan.room, model.plan.context]).toEqual([
    blocks,
    room,
    options.context,
  ]);
});

test('sequences share the room of the cache: one takes more than its part', async () => {
  const path = await writeTinyModel();
  const driver = referenceDriver();
  const limited = (free: number) => defineBackend({ ...driver, freeMemory: () => free });
  const options = { blockSize: 4, sequences: 4, prefillChunk: 8 } as const;
  const roomWith = async (free: number): Promise<number> => {
    using backend = limited(free);
    const plan = await planModel(path, { ...options, backend }).catch(() => undefined);
    return plan?.room ?? 0;
  };
  let [free, more] = [0, 1 << 20]; // the smallest memory with room for the model's context is between them
  while (more - free > 64) {
    const middle = (free + more) / 2;
    if ((await roomWith(middle)) >= 96) more = middle;
    else free = middle;
  }
  using backend = limited(more);
  using model = await loadModel(path, { ...options, backend });
  const { context, room } = model.plan;
  expect(context).toBe(96);
  expect(room).toBeLessThan(2 * 96);
  expect(model.plan.reasons.at(-1)).toContain(`${room} tokens for all sequences together`);
  const prompt = 'a '.repeat(40);
  const settings = { maxTokens: 8, temperature: 0, ignoreEos: true } as const;
  const { tokens } = await model.generate(prompt, settings).result;
  using ample = await loadModel(path, { backend: await createBackend(), context: 96 });
  expect(tokens).toEqual((await ample.generate(prompt, settings).result).tokens);
});

describe('prompts in long steps', () => {
  const driver = referenceDriver();
  const withProfile = (profile: object, free = 1 << 30) =>
    defineBackend({ ...driver, profile: { ...driver.profile, ...profile }, freeMemory: () => free });
  const fast = { kind: 'gpu', flops: 1e15 } as const;

  /** Bytes of the planned steps. */
  async function activations(profile: object, options: object = {}, free?: number): Promise<number> {
    const path = await writeTinyModel();
    using backend = withProfile(profile, free);
    return (await planModel(path, { backend, ...options })).memory.activations;
  }

  test('where the devices are GPUs and fast, and nobody gave a number', async () => {
    const [usual, long] = [
      await activations(fast, { prefillChunk: 512 }),
      await activations(fast, { prefillChunk: 2048 }),
    ];
    expect(long).toBeGreaterThan(usual);
    expect(await activations(fast)).toBe(long);
    expect(await activations({ ...fast, kind: 'cpu' })).toBe(usual);
    expect(await activations({ ...fast, flops: 1e6 })).toBe(usual);
  });

  test.each([
    ['a fast GPU', fast, [600]],
    ['a CPU', {}, [512, 600]],
  ])('the model takes a prompt in these steps: %s', async (_, profile, expected) => {
    using backend = withProfile(profile);
    using model = await loadModel(await writeTinyModel(), { backend, context: 700, cacheDtype: 'f32' });
    const seen: number[] = [];
    const prompt = Array.from({ length: 600 }, () => 5);
    await model.generate(prompt, { maxTokens: 1, onProgress: ({ done }) => seen.push(done) }).result;
    expect(seen).toEqual(expected);
  });

  test('not where they take room from the cache, or there is none', async () => {
    const [usual, long] = [
      await activations(fast, { prefillChunk: 512 }),
      await activations(fast, { prefillChunk: 2048 }),
    ];
    const free = Math.ceil(((usual + long) / 2) * (16 / 15)); // of which a sixteenth is not planned
    expect(await activations(fast, {}, free)).toBeLessThan(long);
  });
});
