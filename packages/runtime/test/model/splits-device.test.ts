// A model split between a device with its own memory and the host's CPU: the tokens of one backend, and the state after
// a device failure.
import { defineBackend } from '@quern/core';
import { testDevice } from '../../../conformance/test/device/driver.js';
import { loadModel } from '../../src/index.js';
import { countingBackend, hasCpu } from '../backends.js';
import { writeTinyModel } from '../tiny-model.js';

const greedy = { maxTokens: 10, temperature: 0, ignoreEos: true } as const;
const sampled = { ...greedy, temperature: 1.2, topK: 40, seed: 7 };

/** Tokens alone and concurrently, with prompts of one and several chunks: captured steps, two prompts in flight. */
async function answersOf(path: string, backend: NonNullable<Parameters<typeof loadModel>[1]>['backend']) {
  using model = await loadModel(path, { backend, sequences: 2, prefillChunk: 3, cacheDtype: 'f32' });
  const say = async (prompt: string, options: typeof sampled | typeof greedy) =>
    (await model.generate(prompt, options).result).tokens;
  return {
    alone: await say('the cat', greedy),
    sampled: await say('the cat', sampled),
    together: await Promise.all([say('a cold dog and it', greedy), say('the end', sampled)]),
  };
}

const partner = hasCpu ? 'cpu' : 'reference';

test(`the device and ${partner}, in either order: the tokens of reference alone`, async () => {
  const path = await writeTinyModel();
  const expected = await answersOf(path, 'reference');
  using device = defineBackend(await testDevice());
  expect(await answersOf(path, [device, partner])).toEqual(expected);
  expect(await answersOf(path, [partner, device])).toEqual(expected);
});

test('the device fails during a plan: DEVICE_FAILED; the other backend frees everything', async () => {
  const path = await writeTinyModel();
  const driver = await testDevice();
  using device = defineBackend(driver);
  const other = countingBackend();
  const model = await loadModel(path, { backend: [other.backend, device] });
  expect((await model.generate('the cat', greedy).result).tokens).toHaveLength(greedy.maxTokens);
  driver.break();
  await expect(model.generate('the cat', greedy).result).rejects.toMatchObject({ code: 'DEVICE_FAILED' });
  expect(model.freeBlocks).toBe(model.stats().blocks);
  model.dispose();
  expect(other.live()).toEqual({ buffers: 0, weights: 0 });
  using again = await loadModel(path, { backend: other.backend });
  expect((await again.generate('the cat', greedy).result).tokens).toHaveLength(greedy.maxTokens);
});
