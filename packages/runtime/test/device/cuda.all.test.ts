// backend-cuda on the emulated GPU, found, chosen and planned for as an installed package.
import '../../../backend-cuda/test/emulated.js';
import { demoModelPath } from '@quern/demo-model';
import { type DeviceReport, describeDevices, findBackend, loadModel, planModel } from '../../src/index.js';
import { backendPackage, makeApplication } from '../application.js';
import { warningsOf } from '../warnings.js';

/** Of jest.environment.mjs. */
declare function setNativeEnvironment(name: string, value: string | undefined): void;

const cuda = {
  quern: { backend: './index.mjs' },
  files: { 'index.mjs': "export * from '@quern/backend-cuda';" },
};
const slow = backendPackage('slow', { flops: 1, readBandwidth: 1 });
const resolveFrom = makeApplication({ '@quern/backend-cuda': cuda, 'backend-slow': slow });
const alone = makeApplication({ '@quern/backend-cuda': cuda });

/** Settings of the emulated device (cuda-driver.cc), until the end of the test. */
function settings(values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) setNativeEnvironment(name, value);
}
afterEach(() => {
  for (const name of ['DEVICES', 'COMPUTE', 'TAKEN'])
    setNativeEnvironment(`QUERN_EMULATED_${name}`, undefined);
});

describe('two GPUs', () => {
  beforeEach(() => settings({ QUERN_EMULATED_DEVICES: '2' }));

  test('an entry each, with name, architecture, driver, memory and rates', async () => {
    const reports = await describeDevices({ resolveFrom: alone });
    expect(reports.map((report) => 'backend' in report && report.backend).sort()).toEqual([
      'cuda:0',
      'cuda:1',
    ]);
    const rate = expect.any(Number);
    expect(reports[0]).toMatchObject({
      package: '@quern/backend-cuda',
      profile: {
        kind: 'gpu',
        name: 'emulated GPU',
        isa: 'sm_90',
        driver: 'CUDA 13.0',
        totalMemory: 4096 * 2 ** 20,
        sharesHostMemory: false,
        estimated: expect.any(Boolean), // another suite of this process may have measured
        readBandwidth: rate,
        links: { hostToDevice: rate, deviceToHost: rate },
      },
      freeMemory: rate,
    });
    const { profile, ceilings } = reports[0] as Extract<DeviceReport, { backend: string }>;
    expect(ceilings === undefined).toBe(profile.estimated);
    process.env.QUERN_EMULATED_DEVICES = '2'; // of the processes that measure
    const measured = await describeDevices({ resolveFrom: alone, measure: true });
    delete process.env.QUERN_EMULATED_DEVICES;
    expect(measured[1]).toMatchObject({
      ceilings: { estimated: false, readBandwidth: rate, rates: { f32: rate, bf16: rate } },
    });
  });

  test.each([
    ['cuda', 'cuda:0'],
    ['cuda:1', 'cuda:1'],
    ['@quern/backend-cuda:1', 'cuda:1'],
  ])('%s is %s', async (name, found) => {
    const { backend } = await findBackend(name, { resolveFrom });
    expect(backend.name).toBe(found);
    backend.dispose();
  });

  test.each(['cuda', '@quern/backend-cuda'])('%s with the option device', async (name) => {
    const { backend } = await findBackend(name, { resolveFrom, backendOptions: { device: 1 } });
    expect(backend.name).toBe('cuda:1');
    backend.dispose();
  });

  test('a device that is not there', async () => {
    await expect(findBackend('cuda:2', { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringMatching(
        /there is no device 2; there are 0 \(emulated GPU\), 1 \(emulated GPU\)/,
      ),
    });
  });

  test('a model split over both; their memory is not the host’s', async () => {
    const plan = await planModel(demoModelPath, { resolveFrom, backend: 'cuda:0,cuda:1' });
    expect(plan.ranges.map(({ backend }) => backend)).toEqual(['cuda:0', 'cuda:1']);
    const free = plan.ranges.reduce((sum, { memory }) => sum + memory.available, 0);
    expect(plan.memory.available).toBe(free);
  });
});

describe('auto', () => {
  test('takes the GPU, which is the fastest by measurement here; threads and precision are no reason to refuse', async () => {
    const options = { resolveFrom, threads: 2, precision: 'fast', context: 64 } as const;
    using model = await loadModel(demoModelPath, options);
    expect(model.backend).toBe('cuda:0');
    expect(model.plan.reasons[0]).toMatch(
      /^'cuda:0' \(emulated GPU, sm_90, 1 multiprocessor\): the fastest by measurement that fits$/,
    );
    const { text } = await model.generate('Once upon a time', { maxTokens: 2, temperature: 0 }).result;
    expect(text).toBe(', in');
  });

  test('takes the next backend where the model does not fit, and says so', async () => {
    settings({ QUERN_EMULATED_TAKEN: '4094' });
    const heard: string[] = [];
    const plan = await planModel(demoModelPath, { resolveFrom, onNotice: (text) => heard.push(text) });
    expect(plan.ranges.map(({ backend }) => backend)).toEqual(['slow']);
    expect(plan.reasons[0]).toMatch(/^rejected: the model is too large: .* free on 'cuda:0'/);
    expect(heard).toEqual([expect.stringMatching(/^'cuda:0' has .* free, too little for this model/)]);
  });

  test.each([
    [
      'too old: with a notice',
      { QUERN_EMULATED_COMPUTE: '75' },
      [expect.stringMatching(/^@quern\/backend-cuda cannot be used: cuda:0 .* 7\.5; .*Going on with 'slow'/)],
    ],
    ['not visible: in silence', { QUERN_EMULATED_DEVICES: '0' }, []],
  ])('takes another backend if the GPU is %s', async (_, values, notices) => {
    settings(values as unknown as Readonly<Record<string, string>>);
    const { warnings, result } = await warningsOf(() => planModel(demoModelPath, { resolveFrom }));
    expect([result.ranges.map(({ backend }) => backend), warnings]).toEqual([['slow'], notices]);
  });
});

test('a GPU that is too old: the reason, where the backend is named or listed', async () => {
  settings({ QUERN_EMULATED_COMPUTE: '75' });
  const reason = 'cuda:0 (emulated GPU) has compute capability 7.5; at least 8.0 is needed';
  await expect(findBackend('cuda', { resolveFrom })).rejects.toMatchObject({
    code: 'BACKEND_FAILED',
    message: `cuda cannot be used (UNSUPPORTED): ${reason}`,
    cause: expect.objectContaining({ name: 'BackendError', code: 'UNSUPPORTED', message: reason }),
  });
  const reports = await describeDevices({ resolveFrom: alone });
  expect(reports).toEqual([{ package: '@quern/backend-cuda', error: reason }]);
});
