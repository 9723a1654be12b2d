// What goes wrong with a GPU, on the emulated device.
import './emulated.js';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend } from '@quern/core';
import { failureTests, normalised } from '../../gpu/test/failure-tests.js';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend, devices } from '../src/index.js';

test.each([
  [{ QUERN_EMULATED_DEVICES: '2' }, 5, /no device 5; there are 0 \(emulated GPU\), 1 \(emulated GPU\)$/],
  [{}, 1, /no device 1; there is only 0 \(emulated GPU\)$/],
  [{ QUERN_EMULATED_DEVICES: '0' }, 0, /Metal shows no GPU/],
  [
    { QUERN_EMULATED_OS: 'Version 14.5 (Build 23F79)' },
    0,
    /metal:0 \(emulated GPU\) needs macOS 15; this is macOS 14\.5: update/,
  ],
  [{ QUERN_EMULATED_FAMILIES: '1005' }, 0, /does not belong to the family Metal 3/],
  [{ QUERN_EMULATED_UNIFIED: '0' }, 0, /has memory of its own/],
] as const)('%j, device %d: UNSUPPORTED', (settings, device, message) =>
  withSettings({ ...settings }, async () => {
    await expect(createBackend({ device })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(message),
    });
  }),
);

test('no such library in the place of Metal', async () => {
  const before = process.env.QUERN_METAL_LIBRARY;
  process.env.QUERN_METAL_LIBRARY = 'libnot-there.so';
  const made = createBackend();
  process.env.QUERN_METAL_LIBRARY = before;
  await expect(made).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringMatching(/^Metal was not found: libnot-there\.so/),
  });
});

test.each([
  [{ device: -1 }, /device must be a whole number/],
  [{ precision: 'rough' }, /precision must be/],
  [{ streams: 2 }, /no option 'streams'; there are device, precision/],
])('%j: BAD_ARGUMENT', async (options, message) => {
  await expect(createBackend(options as object)).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringMatching(message),
  });
});

test('a GPU that cannot be used is listed with the reason', () =>
  withSettings({ QUERN_EMULATED_OS: 'Version 14.5 (Build 23F79)' }, async () => {
    expect(await devices()).toMatchObject([
      { name: 'emulated GPU', unusable: expect.stringMatching(/macOS 15/) },
    ]);
  }));

test('a second device', () =>
  withSettings({ QUERN_EMULATED_DEVICES: '2' }, async () => {
    using backend = await createBackend({ device: 1 });
    expect(backend.name).toBe('metal:1');
  }));

test("a kernel that does not compile: the compiler's message, the GPU; others work", async () => {
  using backend = await createBackend();
  await withSettings({ QUERN_EMULATED_COMPILE_FAILS: 'l2_normalise' }, async () => {
    await expect(normalised(backend, [3, 4])).rejects.toMatchObject({
      code: 'DEVICE_FAILED',
      message: expect.stringMatching(
        /the kernel l2_normalise does not compile on metal:0 \(emulated GPU\): program_source:1:1: error: planted/,
      ),
    });
  });
  expect((await normalised(backend, [3, 4]))[0]).toBeCloseTo(0.6, 6);
});

test('simdgroups of 64 lanes', async () => {
  using backend = await createBackend();
  await withSettings({ QUERN_EMULATED_SIMDGROUP: '64' }, async () => {
    await expect(normalised(backend, [3, 4])).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/64 lanes in a simdgroup; this backend needs 32/),
    });
  });
});

failureTests(createBackend, {
  failure: /the step failed on metal:0 \(emulated GPU\): .*planted/,
  memory: /256\.0 MiB of memory .*metal:0 \(emulated GPU\) has .* free of a working set of 4\.0 GiB/,
});

/** The objects of Metal that are alive when a backend goes after `act`, by class. */
async function aliveAfter(act: (backend: Backend) => Promise<void>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'quern-alive-'));
  const file = join(folder, 'alive');
  const told = () => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  await withSettings({ QUERN_EMULATED_ALIVE: file }, async () => {
    const backend = await createBackend();
    await act(backend);
    backend.dispose();
    for (let i = 0; i < 100 && told() === ''; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  });
  const alive = told();
  rmSync(folder, { recursive: true });
  return alive;
}

/** A step of more command buffers than are in flight, whose first one fails. */
async function failInFront(backend: Backend): Promise<void> {
  using step = backend.step();
  let x = backend.l2Normalise(step.input(Float32Array.of(3, 4), [1, 2]));
  for (let i = 0; i < 200; i++) x = backend.add(x, x);
  await withSettings({ QUERN_EMULATED_FAILS: 'l2_normalise' }, async () => {
    await expect(step.read(x)).rejects.toMatchObject({ code: 'DEVICE_FAILED' });
  });
}

const ended = 'MTLCommandQueue 1, MTLDevice 1\n'; // the queue that goes, and its device

test('nothing else is left when a backend goes', async () => {
  expect(await aliveAfter(async (backend) => void (await normalised(backend, [3, 4])))).toBe(ended);
});

test('nor after a failure with work behind it', async () => {
  expect(await aliveAfter(failInFront)).toBe(ended);
});
