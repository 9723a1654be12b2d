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
