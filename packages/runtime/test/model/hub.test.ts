import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import { demoModelPath } from '@quern/demo-model';
import { type MetadataInput, writeGguf } from '@quern/quant';
import { FakeHub } from '../../../hub/test/fake-hub.js';
import {
  describeFile,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  modelKind,
  openTokenizer,
  type Progress,
  planModel,
} from '../../src/index.js';

const demo = readFileSync(demoModelPath);
let hub: FakeHub;
let cacheDir: string;
const before = { ...process.env };

beforeEach(async () => {
  hub = await FakeHub.start();
  cacheDir = mkdtempSync(join(tmpdir(), 'quern-runtime-hub-'));
  Object.assign(process.env, { HF_ENDPOINT: hub.endpoint, HF_HOME: cacheDir, NO_PROXY: '*' });
  for (const name of ['HF_HUB_CACHE', 'HF_TOKEN', 'HF_HUB_OFFLINE']) delete process.env[name];
});

afterEach(async () => {
  for (const name of ['HF_ENDPOINT', 'HF_HOME', 'NO_PROXY']) delete process.env[name];
  Object.assign(process.env, before);
  await hub.stop();
  rmSync(cacheDir, { recursive: true, force: true });
});

test('a name of the Hub: downloaded with progress, then from the cache', async () => {
  const commit = hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  const backend = await createBackend();
  const seen: Progress[] = [];
  const onProgress = (progress: Progress) => seen.push(progress);
  const model = await loadModel('hf:owner/demo', { backend, onProgress });
  expect(model.path).toBe(join(cacheDir, 'hub/models--owner--demo/snapshots', commit, 'demo-Q8_0.gguf'));
  expect(seen.map(({ phase }) => phase)).toEqual(expect.arrayContaining(['download', 'backend', 'weights']));
  const downloaded = seen.filter(({ phase }) => phase === 'download').at(-1);
  expect(downloaded).toMatchObject({ done: demo.length, total: demo.length, files: 1, finishedFiles: 1 });
  model.dispose();
  const requests = hub.seen.length;
  expect(await modelKind('hf:owner/demo')).toBe('language');
  expect((await describeFile('hf:owner/demo:q8_0')).path).toBe(model.path);
  expect((await openTokenizer('hf:owner/demo')).encode('Once').length).toBeGreaterThan(0);
  expect(hub.seen).toHaveLength(requests);
  backend.dispose();
});

test('offline: no request; the cache has the model, or the error says how to get it', async () => {
  hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  for (const load of [loadModel, loadEmbedder, loadSpeechModel, planModel])
    await expect(load('hf:owner/demo', { offline: true })).rejects.toMatchObject({
      code: 'NOT_CACHED',
      message: expect.stringContaining('quern pull hf:owner/demo'),
    });
  expect(hub.seen).toEqual([]);
  const backend = await createBackend();
  (await loadModel('hf:owner/demo', { backend })).dispose();
  const requests = hub.seen.length;
  (await loadModel('hf:owner/demo', { backend, offline: true })).dispose();
  expect(hub.seen).toHaveLength(requests);
  backend.dispose();
});

test('offline: false is stronger than HF_HUB_OFFLINE; only true and false are taken', async () => {
  hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  process.env.HF_HUB_OFFLINE = '1';
  const backend = await createBackend();
  await expect(loadModel('hf:owner/demo', { backend })).rejects.toMatchObject({ code: 'NOT_CACHED' });
  (await loadModel('hf:owner/demo', { backend, offline: false })).dispose();
  backend.dispose();
  const text = { offline: 'yes' } as { offline: never };
  await expect(loadModel('hf:owner/demo', text)).rejects.toMatchObject({ code: 'BAD_OPTION' });
});

/** The two files of a split model, each with one tensor. */
async function splitFiles(): Promise<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {};
  for (const number of [0, 1]) {
    const path = join(cacheDir, 'part.gguf');
    const metadata: Record<string, MetadataInput> = {
      'split.no': { type: 'uint16', value: number },
      'split.count': { type: 'uint16', value: 2 },
      'split.tensors.count': { type: 'int32', value: 2 },
      ...(number === 0 && { 'general.architecture': 'llama' }),
    };
    const data = new Uint8Array(8).fill(number);
    await writeGguf(path, { metadata, tensors: [{ name: `t${number}`, shape: [2], format: 'f32', data }] });
    files[`F32/m-F32-0000${number + 1}-of-00002.gguf`] = readFileSync(path);
  }
  return files;
}

test('the files of a split are found beside the first one, through the links of the cache', async () => {
  hub.commit('owner/split', await splitFiles());
  const described = await describeFile('hf:owner/split');
  expect(described.tensors.map(({ name }) => name)).toEqual(['t0', 't1']);
});

test('the path of a file that looks like a name stays a path', async () => {
  const path = join(cacheDir, 'qwen3:0.6b');
  writeFileSync(path, 'not a model');
  await expect(loadModel(path)).rejects.toMatchObject({ code: 'NOT_GGUF' });
  expect(hub.seen).toEqual([]);
});

test('errors and aborts are those of the hub', async () => {
  await expect(loadModel('hf:owner/none')).rejects.toMatchObject({ name: 'HubError', code: 'NOT_FOUND' });
  await expect(loadModel('hf:../x')).rejects.toMatchObject({ name: 'HubError', code: 'BAD_NAME' });
  await expect(loadModel('nosuch:7b')).rejects.toMatchObject({ name: 'HubError', code: 'UNKNOWN_NAME' });
  hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error('enough'));
  await expect(loadModel('hf:owner/demo', { signal: controller.signal, onProgress })).rejects.toMatchObject({
    name: 'AbortError',
    code: 'ABORTED',
  });
});

/** Jest's types do not have it yet. */
interface MockModule {
  unstable_mockModule(name: string, make: () => unknown): void;
}

test('without @quern/hub: the command that adds it; other words with a colon are paths', async () => {
  const jest = import.meta.jest as ImportMeta['jest'] & MockModule;
  jest.resetModules();
  jest.unstable_mockModule('@quern/hub', () => {
    throw new Error("Cannot find package '@quern/hub'");
  });
  const runtime = await import('../../src/index.js');
  await expect(runtime.loadModel('hf:owner/demo')).rejects.toMatchObject({
    code: 'HUB_NOT_FOUND',
    message: expect.stringMatching(/npm install @quern\/hub\. Cannot find package/),
  });
  await expect(runtime.loadModel('qwen3:0.6b')).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  expect(hub.seen).toEqual([]);
});
