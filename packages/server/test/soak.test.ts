// The short form of tools/measure/soak.mjs.
import { loadDemo, serving, until } from './serving.js';
import { soak } from './soak.mjs';

test('random clients for three seconds: no fault, no block lost, nothing hangs', async () => {
  const model = await loadDemo(1, { context: 512 }); // a cache for a fraction of the clients
  const server = await serving(model);
  const { ends, hanging } = await soak(server.url, { ms: 3000, clients: 24 });
  const { ok = 0, left = 0, refused = 0, ...faults } = ends;
  expect(faults).toEqual({});
  expect(Math.min(ok, left, refused)).toBeGreaterThan(0);
  expect(hanging).toBe(0);
  await until(() => server.running === 0 && model.freeBlocks === model.stats().blocks);
  expect([server.running, model.freeBlocks]).toEqual([0, model.stats().blocks]);
  await server.close();
  model.dispose();
}, 120_000);
