// The short form of tools/measure/soak.mjs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Embedder, loadEmbedder, type Model, makeSyntheticEncoder } from '@quern/runtime';
import { serve } from '../src/index.js';
import { hermesTemplate } from './hermes-template.mjs';
import { loadDemo, until } from './serving.js';
import { soak } from './soak.mjs';

const folder = mkdtempSync(join(tmpdir(), 'quern-soak-'));
let model: Model;
let encoder: Embedder;
beforeAll(async () => {
  model = await loadDemo(1, { context: 512, chatTemplate: hermesTemplate }); // a cache for a fraction of the clients
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
  encoder = await loadEmbedder(path, { backend: 'cpu', onNotice: () => {} });
});
afterAll(() => {
  for (const each of [model, encoder]) each.dispose();
  rmSync(folder, { recursive: true });
});

test('random clients of every kind for three seconds: no fault, no block lost, nothing hangs', async () => {
  const server = await serve({ models: { model, encoder }, port: 0, bodyMs: 500 });
  const { ends, kinds, hanging } = await soak(server.url, {
    ms: 3000,
    least: 72,
    clients: 24,
    patience: 240_000,
  });
  const { ok = 0, left = 0, refused = 0, ...faults } = ends;
  expect(faults).toEqual({});
  expect(Math.min(ok, left, refused)).toBeGreaterThan(0);
  expect(Object.keys(kinds)).toHaveLength(17);
  expect(hanging).toBe(0);
  await until(() => server.running === 0 && model.freeBlocks === model.stats().blocks);
  expect([server.running, model.freeBlocks]).toEqual([0, model.stats().blocks]);
  await server.close();
}, 400_000);
