// The planner uses the largest step of a model, recorded before loading.
import { createBackend } from '@quern/backend-reference';
import { type Backend, defineBackend, driverOf } from '@quern/core';
import { openModelFile } from '@quern/models';
import { loadModel, type PlannerDevice, planBackends, plannerDevice } from '../../src/index.js';
import { showBytes } from '../../src/planner/memory.js';
import { rehearseSteps } from '../../src/planner/rehearse-steps.js';
import { tiny, tinyVocabulary, writeTinyModel } from '../tiny-model.js';

const path = await writeTinyModel();
const file = await openModelFile(path);
const backend: Backend = await createBackend();
afterAll(() => backend.dispose());

const sampling = 12 * tinyVocabulary;

test('a step takes at least its residual stream and its logits', async () => {
  const few = await rehearseSteps(backend, file, { prefillChunk: 8, sequences: 1 });
  const many = await rehearseSteps(backend, file, { prefillChunk: 64, sequences: 40 });
  expect(many!.prefill - few!.prefill).toBeGreaterThan(4 * 56 * 2 * tiny.width);
  expect(many!.decode - few!.decode).toBeGreaterThan(4 * 15 * tinyVocabulary);
});

test('activations in the plan: the largest step, with the reason', async () => {
  const steps = { prefill: 5_000_000, decode: 7_000_000 };
  const device: PlannerDevice = { ...plannerDevice(backend, file), steps };
  const planned = (sequences: number) =>
    planBackends({ architecture: 'llama', config: file.config }, [device], {
      ...{ cacheDtype: 'f16', sequences, prefillChunk: 64 },
    });
  expect(planned(1).memory.activations).toBe(5_000_000 + sampling);
  expect(planned(2).memory.activations).toBe(7_000_000 + sampling);
  expect(planned(2).reasons).toContain(
    "the largest step takes 7.00 MB on 'reference' beside weights and cache, as rehearsed",
  );
});

/** The backend with `bytes` of free memory. */
const withFree = (bytes: number): Backend =>
  defineBackend({ ...driverOf(backend)!, freeMemory: () => bytes });

test('a model is rehearsed if memory is scarce', async () => {
  const steps = await rehearseSteps(backend, file, { prefillChunk: tiny.context, sequences: 1 });
  const largest = steps!.prefill + sampling;
  using tight = withFree(300_000);
  using model = await loadModel(path, { backend: tight });
  expect(model.plan.memory.activations).toBe(largest);
  expect(model.plan.reasons.join()).toContain(`the largest step takes ${showBytes(largest)}`);
  using plenty = withFree(1e9);
  using other = await loadModel(path, { backend: plenty });
  expect(other.plan.reasons.join()).not.toContain('rehearsed');
});

test('a model that cannot be rehearsed is estimated', async () => {
  const foreign = { ...backend };
  expect(driverOf(foreign)).toBeUndefined();
  expect(await rehearseSteps(foreign, file, { prefillChunk: 8, sequences: 1 })).toBeUndefined();
});

test('a broken model: the usual error', async () => {
  const driver = driverOf(backend)!;
  using whole = defineBackend(driver);
  const lacking = { ...file, weights: { ...file.weights, tensors: new Map() } };
  await expect(rehearseSteps(whole, lacking, { prefillChunk: 8, sequences: 1 })).rejects.toMatchObject({
    code: 'MISSING_WEIGHT',
  });
});
