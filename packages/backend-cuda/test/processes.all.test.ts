// backend-cuda in workers and child processes, and without a driver that works: scripts with the addon alone.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prelude, run } from './script.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-cuda-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A worker that runs the script, as source. */
const worker = (script: string) => `new Worker(${JSON.stringify(prelude + script)}, { eval: true })`;

const refused = 'console.log(JSON.stringify([told(list), told(create)]))';

test.each([
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
    /^UNSUPPORTED: the NVIDIA driver shows no device: is CUDA_VISIBLE_DEVICES empty\?$/,
  ],
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
  const inside = worker(`create().profile(); parentPort.postMessage('started')`);
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
    create().profile();
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
