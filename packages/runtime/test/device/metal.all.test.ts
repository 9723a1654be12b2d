// backend-metal on the emulated GPU, found, chosen and planned for as an installed package.
import '../../../backend-metal/test/emulated.js';
import { demoModelPath } from '@quern/demo-model';
import { describeDevices, findBackend, loadModel, planModel } from '../../src/index.js';
import { backendPackage, makeApplication } from '../application.js';

/** Of jest.environment.mjs. */
declare function setNativeEnvironment(name: string, value: string | undefined): void;

const packageOf = (name: string) => ({
  quern: { backend: './index.mjs' },
  files: { 'index.mjs': `export * from '${name}';` },
});
const metal = packageOf('@quern/backend-metal');
const slow = backendPackage('slow', { flops: 1, readBandwidth: 1 });
const cpu = packageOf('@quern/backend-cpu');
const resolveFrom = makeApplication({
  '@quern/backend-metal': metal,
  '@quern/backend-cpu': cpu,
  'backend-slow': slow,
});
const alone = makeApplication({ '@quern/backend-metal': metal, 'backend-slow': slow });

test('an entry with name, architecture, system, memory and rates', async () => {
  const reports = await describeDevices({ resolveFrom: alone });
  const rate = expect.any(Number);
  expect(reports.find(({ package: name }) => name === '@quern/backend-metal')).toMatchObject({
    backend: 'metal:0',
    profile: {
      kind: 'gpu',
      name: 'emulated GPU',
      isa: 'apple9',
      driver: 'macOS 15.1',
      totalMemory: 4096 * 2 ** 20,
      sharesHostMemory: true,
      links: { hostToDevice: rate, deviceToHost: rate },
    },
    ceilings: { readBandwidth: rate, rates: { f32: rate, bf16: rate } },
    freeMemory: rate,
  });
});

test("'metal' is metal:0", async () => {
  const { backend } = await findBackend('metal', { resolveFrom });
  expect(backend.name).toBe('metal:0');
  backend.dispose();
});

test('auto takes the GPU where it is the fastest by measurement', async () => {
  using model = await loadModel(demoModelPath, { resolveFrom: alone, context: 64 });
  expect(model.backend).toBe('metal:0');
  expect(model.plan.reasons[0]).toMatch(
    /^'metal:0' \(emulated GPU, apple9, .*\): the fastest by measurement/,
  );
  const { text } = await model.generate('Once upon a time', { maxTokens: 2, temperature: 0 }).result;
  expect(text).toBe(', in');
});

test('a model split over GPU and CPU: the memory that they share counts once', async () => {
  const plan = await planModel(demoModelPath, { resolveFrom, backend: 'metal,cpu' });
  expect(plan.ranges.map(({ backend }) => backend)).toEqual(['metal:0', 'cpu']);
  const free = plan.ranges.map(({ memory }) => memory.available);
  expect(plan.memory.available).toBe(Math.max(...free));
});

test('split over GPU and CPU, a model says the same', async () => {
  using model = await loadModel(demoModelPath, { resolveFrom, backend: 'metal,cpu', context: 64 });
  const { text } = await model.generate('Once upon a time', { maxTokens: 2, temperature: 0 }).result;
  expect(text).toBe(', in');
});

test('a Mac with a system that is too old: named, the reason; auto, another backend', async () => {
  setNativeEnvironment('QUERN_EMULATED_OS', 'Version 14.5 (Build 23F79)');
  try {
    await expect(findBackend('metal', { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringMatching(/needs macOS 15; this is macOS 14\.5/),
    });
    const plan = await planModel(demoModelPath, { resolveFrom: alone });
    expect(plan.ranges.map(({ backend }) => backend)).toEqual(['slow']);
  } finally {
    setNativeEnvironment('QUERN_EMULATED_OS', undefined);
  }
});
