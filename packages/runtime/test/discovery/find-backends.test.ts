import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Backend } from '@quern/core';
import { describeDevices, findBackend, findBackends, loadModel } from '../../src/index.js';
import { backendPackage, brokenPackage, makeApplication } from '../application.js';
import { writeTinyModel } from '../tiny-model.js';

const application = () =>
  makeApplication({
    '@quern/backend-slow': backendPackage('slow', { flops: 1e9, readBandwidth: 1e12 }),
    'fast-by-others': backendPackage('fast', { flops: 1e12, readBandwidth: 1e9 }),
    '@quern/backend-broken': brokenPackage('there is no such device'),
    'not-a-backend': {},
    'empty-backend': { quern: { backend: './index.mjs' }, files: { 'index.mjs': '' } },
  });

/** Backends that a made-up package has created so far. */
const madeBy = async (folder: string, name: string): Promise<Backend[]> =>
  (await import(pathToFileURL(join(folder, 'node_modules', name, 'index.mjs')).href)).made;

test('finds what the dependencies declare, fastest first, and why the others do not load', async () => {
  const found = await findBackends({ resolveFrom: application(), threads: 3 });
  expect(found.map(({ package: name, error }) => error ?? name)).toEqual([
    'fast-by-others',
    '@quern/backend-slow',
    'there is no such device',
    './index.mjs does not export createBackend',
  ]);
  expect(found[0]!.backend!.profile.threads).toBe(3);
  for (const { backend } of found) backend?.dispose();
});

test('looks from a folder inside the application', async () => {
  const found = await findBackends({
    resolveFrom: join(application(), 'node_modules', 'not-a-backend', '..', '..'),
  });
  expect(found).toHaveLength(4);
  for (const { backend } of found) backend?.dispose();
});

test('a backend by its name, or by its package', async () => {
  const resolveFrom = application();
  for (const name of ['fast', 'fast-by-others'])
    await findBackend(name, { resolveFrom }).then(({ backend }) => {
      expect(backend.name).toBe('fast');
      backend.dispose();
    });
  expect((await madeBy(resolveFrom, '@quern/backend-slow')).every(({ disposed }) => disposed)).toBe(true);
});

test('one that is not installed: the command, and what there is', async () => {
  const looking = findBackend('cuda', { resolveFrom: application() });
  await expect(looking).rejects.toMatchObject({
    code: 'BACKEND_NOT_FOUND',
    message: expect.stringMatching(/npm install @quern\/backend-cuda$/),
  });
  await expect(looking).rejects.toThrow(/slow \(@quern\/backend-slow\)/);
  await expect(findBackend('cuda', { resolveFrom: makeApplication({}) })).rejects.toThrow(
    /no package .* declares a backend/,
  );
});

test('one that is installed but does not load says why', async () => {
  await expect(findBackend('broken', { resolveFrom: application() })).rejects.toMatchObject({
    code: 'BACKEND_FAILED',
    message: expect.stringContaining('there is no such device'),
  });
});

test('loadModel takes the fastest and disposes the others; disposing the model disposes its backend', async () => {
  const resolveFrom = application();
  const notices: string[] = [];
  const model = await loadModel(await writeTinyModel(), {
    resolveFrom,
    onNotice: (text) => notices.push(text),
  });
  expect(model.backend).toBe('fast');
  expect(notices).toContainEqual(
    expect.stringMatching(
      /@quern\/backend-broken .*there is no such device.*'fast' or 'slow', which may be slower/,
    ),
  );
  const [fast] = await madeBy(resolveFrom, 'fast-by-others');
  const [slow] = await madeBy(resolveFrom, '@quern/backend-slow');
  expect([fast!.disposed, slow!.disposed]).toEqual([false, true]);
  model.dispose();
  expect(fast!.disposed).toBe(true);
});

test('no backend at all', async () => {
  const loading = loadModel(await writeTinyModel(), { resolveFrom: makeApplication({}) });
  await expect(loading).rejects.toMatchObject({
    code: 'NO_BACKEND',
    message: expect.stringContaining('npm install'),
  });
});

test('what failed to load leaves no backend behind', async () => {
  const resolveFrom = application();
  await expect(loadModel(await writeTinyModel(), { resolveFrom, context: 1e12 })).rejects.toMatchObject({
    code: 'CONTEXT_TOO_LARGE',
  });
  for (const name of ['fast-by-others', '@quern/backend-slow'])
    expect((await madeBy(resolveFrom, name)).every(({ disposed }) => disposed)).toBe(true);
});

test('the advice to install the usual backend is not given where it is installed but fails', async () => {
  const resolveFrom = makeApplication({ '@quern/backend-cpu': brokenPackage('no binary') });
  const loading = loadModel(await writeTinyModel(), { resolveFrom });
  await expect(loading).rejects.toMatchObject({
    code: 'NO_BACKEND',
    message: expect.stringMatching(/@quern\/backend-cpu: no binary$/),
  });
});

test.each(['', 'two words', '../cpu', 'a/b'])("'%s' is no name of a backend", async (name) => {
  await expect(findBackend(name, { resolveFrom: application() })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  });
});

describe('a backend that refuses what the caller chose', () => {
  const refusing = (code: string) =>
    makeApplication({
      '@quern/backend-slow': backendPackage('slow', { flops: 1e9, readBandwidth: 1e12 }),
      '@quern/backend-cpu': brokenPackage('it will not do', code),
    });

  afterEach(() => {
    delete process.env.QUERN_CPU_ISA;
  });

  test('threads: no other backend takes its place', async () => {
    const resolveFrom = refusing('BAD_ARGUMENT');
    await expect(loadModel(await writeTinyModel(), { resolveFrom, threads: 999 })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringContaining('it will not do'),
    });
    expect((await madeBy(resolveFrom, '@quern/backend-slow')).every(({ disposed }) => disposed)).toBe(true);
    using model = await loadModel(await writeTinyModel(), { resolveFrom });
    expect(model.backend).toBe('slow');
  });

  test('QUERN_CPU_ISA: no other backend takes its place', async () => {
    const resolveFrom = refusing('UNSUPPORTED');
    process.env.QUERN_CPU_ISA = 'mmx';
    await expect(loadModel(await writeTinyModel(), { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
    });
    delete process.env.QUERN_CPU_ISA;
    using model = await loadModel(await writeTinyModel(), { resolveFrom, threads: 2 });
    expect(model.backend).toBe('slow');
  });
});

test('describeDevices measures, reports and disposes', async () => {
  const resolveFrom = makeApplication({
    '@quern/backend-slow': backendPackage('slow', { flops: 1e9, readBandwidth: 1e12 }),
    'fast-by-others': backendPackage(
      'fast',
      { flops: 1e12, readBandwidth: 1e9 },
      '({ readBandwidth: 2e9, readBandwidthOneThread: 1e9, rates: { f32: 3e12 } })',
    ),
    '@quern/backend-broken': brokenPackage('there is no such device'),
    'worn-out': backendPackage(
      'worn-out',
      { flops: 1, readBandwidth: 1 },
      'Promise.reject(new Error("it is too hot"))',
    ),
  });
  const reports = await describeDevices({ resolveFrom });
  expect(reports[0]).toMatchObject({
    backend: 'fast',
    profile: { flops: 1e12 },
    ceilings: { readBandwidth: 2e9, readBandwidthOneThread: 1e9, rates: { f32: 3e12 } },
    capabilities: ['pagedKv', 'quantGptq', 'kvQuant', 'graph', 'timer'],
  });
  expect(reports[1]).toMatchObject({ backend: 'slow' });
  expect(reports[1]).not.toHaveProperty('ceilings');
  expect(reports).toContainEqual({ package: '@quern/backend-broken', error: 'there is no such device' });
  expect(reports).toContainEqual({ package: 'worn-out', error: 'it is too hot' });
  for (const name of ['fast-by-others', 'worn-out'])
    expect((await madeBy(resolveFrom, name)).map(({ disposed }) => disposed)).toEqual([true]);
});
