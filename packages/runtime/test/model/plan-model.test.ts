import { createBackend } from '@quern/backend-reference';
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

test('without a backend, and with a split that cannot be', async () => {
  const path = await writeTinyModel();
  const resolveFrom = makeApplication({});
  await expect(planModel(path, { resolveFrom })).rejects.toMatchObject({ code: 'NO_BACKEND' });
  using backend = await createBackend();
  await expect(planModel(path, { backend, split: '0' })).rejects.toMatchObject({ code: 'BAD_OPTION' });
});
