import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HubOptions, pull, resolveModel } from '@quern/hub';
import { FakeHub, randomBytes } from './fake-hub.js';

let hub: FakeHub;
let cacheDir: string;
const model = randomBytes(300_000, 1);

beforeEach(async () => {
  hub = await FakeHub.start();
  cacheDir = mkdtempSync(join(tmpdir(), 'quern-hub-'));
});

afterEach(async () => {
  await hub.stop();
  rmSync(cacheDir, { recursive: true, force: true });
});

const options = (more: HubOptions = {}): HubOptions => ({
  cacheDir,
  endpoint: hub.endpoint,
  env: {},
  retryDelayMs: 0,
  partBytes: 50_000,
  ...more,
});

test('a file in LFS comes from the storage in parts', async () => {
  const commit = hub.commit('owner/name', { 'name-Q4_K_M.gguf': model });
  const pulled = await pull('hf:owner/name', options());
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
  expect(pulled).toMatchObject({ commit, quantisation: 'Q4_K_M', bytes: model.length, revision: 'main' });
  expect(hub.storageBytes).toBe(model.length);
  expect(hub.seen.filter(({ at }) => at === 'storage')).toHaveLength(6);
  expect(hub.seen.filter(({ at }) => at === 'file')).toHaveLength(1);
  const before = hub.seen.length;
  expect(await resolveModel('hf:owner/name', options())).toEqual(pulled);
  expect(hub.seen).toHaveLength(before);
});
