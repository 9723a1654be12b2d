// backend-cuda in workers and child processes, and without a driver that works: scripts with the addon alone.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prelude, run } from './script.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-cuda-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A worker that runs the script, as source. */
const worker = (script: string) => `new Worker(${JSON.stringify(prelude + script)}, { eval: true })`;

/** Name, settings, what the list of devices is, and the error of making a backend. */
type Refused = [string, Record<string, string>, unknown, RegExp];

/** By errors of cuInit. */
const advice = {
  999: 'CUDA_ERROR_UNKNOWN.*; do the files /dev/nvidia.* exist.*docker run --gpus all',
  803: 'CUDA_ERROR_SYSTEM_DRIVER_MISMATCH.*; .*different versions: restart the machine after an update',
  802: '.*; a service of this machine does not run yet, such as nvidia-fabricmanager',
  804: '.*; .*compatibility package.*LD_LIBRARY_PATH$',
  34: '.*; .*stub of a toolkit.*LD_LIBRARY_PATH$',
};

const refused = 'console.log(JSON.stringify([outcome(list), outcome(create)]))';

test.each<Refused>([
  [
    'a library that does not exist',
    { QUERN_CUDA_LIBRARY: 'libnot-there.so' },
    [],
    /^UNSUPPORTED: no NVIDIA driver: libnot-there\.so: cannot open.*docker run --gpus all/,
  ],
  [
    'no GPU is visible',
    { QUERN_EMULATED_DEVICES: '0' },
    [],
    /^UNSUPPORTED: the NVIDIA driver shows no device: is CUDA_VISIBLE_DEVICES empty, .*docker run --gpus all/,
  ],
  ...Object.entries(advice).map(([code, words]): Refused => {
    const message = new RegExp(`^UNSUPPORTED: the NVIDIA driver does not start: ${words}`);
    return [`cuInit's error ${code}`, { QUERN_EMULATED_INIT: code }, expect.stringMatching(message), message];
  }),
  [
    'a driver that is too old',
    { QUERN_EMULATED_DRIVER: '11040' },
    expect.stringMatching(
      /^UNSUPPORTED: the NVIDIA driver supports CUDA 11\.4; at least CUDA 12\.0 is needed/,
    ),
    /^UNSUPPORTED: the NVIDIA driver supports CUDA 11\.4; at least CUDA 12\.0 is needed/,
  ],
])('%s', (_, env, listed, message) => {
  expect(JSON.parse(run(refused, env))).toEqual([listed, expect.stringMatching(message)]);
});

test('the list of devices; no context is made for it', () => {
  const env = { QUERN_EMULATED_DEVICES: '2', QUERN_EMULATED_COMPUTE: '75' };
  expect(JSON.parse(run('console.log(JSON.stringify(list()))', env))).toEqual(
    [0, 1].map((index) => ({
      index,
      name: 'emulated GPU',
      totalMemory: 4096 * 2 ** 20,
      isa: 'sm_75',
      driver: 'CUDA 13.0',
      unusable: `cuda:${index} (emulated GPU) has compute capability 7.5; at least 8.0 is needed`,
    })),
  );
});

test('a worker computes with its own backend beside its parent’s, and ends without dispose', () => {
  const inside = worker(`create().profile().then(({ name }) => parentPort.postMessage(name))`);
  const script = `
    const own = create();
    const inside = ${inside};
    inside.on('message', (name) => console.log(name));
    inside.on('exit', async (code) => {
      console.log(code, (await own.profile()).name);
      own.dispose();
    });`;
  expect(run(script)).toBe('emulated GPU\n0 emulated GPU\n');
});

test('a worker that is terminated while its backend computes', () => {
  const inside = worker(`create({ rates: 'measure' }).profile(); parentPort.postMessage('started')`);
  const script = `
    const inside = ${inside};
    inside.on('message', async () => {
      await inside.terminate();
      const { name } = await create().profile();
      console.log(name);
    });`;
  expect(run(script)).toBe('emulated GPU\n');
});

test.each([1, 30, 200])('process.exit %i ms after the backend began to compute', (after) => {
  const script = `
    create({ rates: 'measure' }).profile();
    setTimeout(() => { console.log('left'); process.exit(0); }, ${after});`;
  expect(run(script)).toBe('left\n');
});

test('a process from child_process.fork makes its own backend', () => {
  const child = join(folder, 'child.cjs');
  writeFileSync(
    child,
    `${prelude} create().profile().then(({ name }) => { process.send(name); process.disconnect(); });`,
  );
  const script = `
    const own = create();
    const child = fork(${JSON.stringify(child)});
    child.on('message', (name) => console.log(name));
    child.on('exit', async (code) => console.log(code, (await own.profile()).name));`;
  expect(run(script)).toBe('emulated GPU\n0 emulated GPU\n');
});

describe('a kernel that hangs', () => {
  const env = { QUERN_EMULATED_HANGS: 'linear_few*', QUERN_CUDA_WAIT: '0.3' };

  test('the process ends by itself', () => {
    const script = `create({ rates: 'measure' }).profile().catch(({ code, message }) => console.log(code, message));`;
    expect(run(script, env)).toMatch(/^DEVICE_FAILED the kernel linear_few_1_q4_k did not end/);
  });

  test.each([0, 100, 1000])('process.exit after %i ms', (after) => {
    const script = `
      create({ rates: 'measure' }).profile().catch(() => {});
      setTimeout(() => { console.log('left'); process.exit(0); }, ${after});`;
    expect(run(script, { ...env, QUERN_CUDA_WAIT: '1' })).toBe('left\n');
  });
});

test('memory that is freed after a call that failed is free at once', () => {
  const script = `
    const own = create();
    const [small, large] = [own.allocate(4096), own.allocate(2 ** 20)];
    const before = own.freeMemory();
    process.env.QUERN_EMULATED_CUTS = '/not/there'; // copies to the device are refused
    own.write(small, 0, new Uint8Array(4096)).catch(({ code }) => {
      own.free(large);
      console.log(code, own.freeMemory() - before >= 2 ** 20);
    });`;
  expect(run(script)).toBe('DEVICE_FAILED true\n');
});

test('two processes on one GPU: what one has, the other counts', () => {
  const script = `
    const own = create();
    const before = own.freeMemory();
    process.env.QUERN_EMULATED_TAKEN = '100';
    console.log((before - own.freeMemory()) / 2 ** 20, outcome(() => own.allocate(2 ** 32 - 2 ** 26)));`;
  expect(run(script)).toMatch(
    /^100 OUT_OF_MEMORY: 3\.9 GiB of memory were asked for .* cuda:0 \(emulated GPU\) has 3\.\d GiB free; nvidia-smi shows which processes have the rest\n$/,
  );
});
