// What goes wrong with a GPU, on the emulated device.
import './emulated.js';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend } from '@quern/core';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend, devices } from '../src/index.js';

/** x / ‖x‖ of one row. */
async function normalised(backend: Backend, x: readonly number[]): Promise<number[]> {
  using step = backend.step();
  const row = step.input(Float32Array.from(x), [1, x.length]);
  return Array.from(await step.read(backend.l2Normalise(row)), Number);
}

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
])('%j, device %d: UNSUPPORTED', (settings, device, message) =>
  withSettings(settings as unknown as Record<string, string>, async () => {
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

test('a failed launch rejects, the backend stays failed, a new one works', async () => {
  using backend = await createBackend();
  await withSettings({ QUERN_EMULATED_FAILS: 'l2_normalise' }, async () => {
    await expect(normalised(backend, [3, 4])).rejects.toMatchObject({
      code: 'DEVICE_FAILED',
      message: expect.stringMatching(/the step failed on metal:0 \(emulated GPU\): .*planted/),
    });
  });
  await expect(normalised(backend, [3, 4])).rejects.toMatchObject({
    code: 'DEVICE_FAILED',
    message: expect.stringMatching(/has failed before .*make a new one/),
  });
  using fresh = await createBackend();
  const [a, b] = await normalised(fresh, [3, 4]);
  expect(a).toBeCloseTo(0.6, 6);
  expect(b).toBeCloseTo(0.8, 6);
});

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

test('the working set is exceeded', async () => {
  using backend = await createBackend();
  const buffer = () =>
    backend.kvBuffer({ dtype: 'f32', blocks: 64, blockSize: 1024, heads: 8, headDim: 128 });
  await withSettings({ QUERN_EMULATED_TAKEN: '4000' }, async () => {
    expect(buffer).toThrow(
      expect.objectContaining({
        code: 'OUT_OF_MEMORY',
        message: expect.stringMatching(
          /256\.0 MiB of memory were asked for .*metal:0 \(emulated GPU\) has .* free of a working set of 4\.0 GiB/,
        ),
      }),
    );
  });
  buffer().dispose();
});

test('nothing is left when a backend goes but its queue, which goes, and its device', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-alive-'));
  const file = join(folder, 'alive');
  await withSettings({ QUERN_EMULATED_ALIVE: file }, async () => {
    const backend = await createBackend();
    await normalised(backend, [3, 4]);
    backend.dispose();
    for (let i = 0; i < 100; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      try {
        if (readFileSync(file, 'utf8') !== '') break;
      } catch {}
    }
  });
  expect(readFileSync(file, 'utf8')).toBe('MTLCommandQueue 1, MTLDevice 1\n');
  rmSync(folder, { recursive: true });
});
