// What goes wrong with a GPU, on the emulated device.
import './emulated.js';
import type { Backend } from '@quern/core';
import { failureTests, normalised } from '../../gpu/test/failure-tests.js';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';

test.each([
  [
    { QUERN_EMULATED_DEVICES: '2' },
    5,
    'UNSUPPORTED',
    /no device 5; there are 0 \(emulated GPU\), 1 \(emulated GPU\)$/,
  ],
  [{ QUERN_EMULATED_COMPUTE: '75' }, 0, 'UNSUPPORTED', /compute capability 7\.5; at least 8\.0/],
  [{}, 1, 'UNSUPPORTED', /no device 1; there is only 0 \(emulated GPU\)$/],
  [{}, -1, 'BAD_ARGUMENT', /device must be a whole number/],
])('%j, device %d: %s', async (settings, device, code, message) => {
  await withSettings(settings as unknown as Record<string, string>, async () => {
    const made = createBackend({ device });
    await expect(made).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

test.each([
  [{ precision: 'rough' }, /precision must be/],
  [{ streams: 2 }, /no option 'streams'; there are device, precision/],
])('%j: BAD_ARGUMENT', async (options, message) => {
  const made = createBackend(options as object);
  await expect(made).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringMatching(message),
  });
});

test('a second device', () =>
  withSettings({ QUERN_EMULATED_DEVICES: '2' }, async () => {
    using backend = await createBackend({ device: 1 });
    expect(backend.name).toBe('cuda:1');
  }));

failureTests(createBackend, {
  failure: /CUDA_ERROR_LAUNCH_FAILED.*planted/,
  memory: /cuda:0 \(emulated GPU\) has .*free/,
  other: /a planted failure/,
});

/** x / ‖x‖ + x / ‖x‖, captured: replays, and their result. */
async function captured(backend: Backend) {
  const step = backend.step();
  const x = step.input(Float32Array.of(3, 4), [1, 2]);
  const unit = backend.l2Normalise(x);
  const twice = backend.add(unit, unit);
  step.keep(twice);
  const graph = await backend.graph!.capture(step);
  return async () => {
    await graph.replay();
    return Array.from(await graph.read(twice), Number);
  };
}
const result = [1.2, 1.6].map((value) => expect.closeTo(value, 6));

describe('a device that hangs', () => {
  const soon = { QUERN_CUDA_WAIT: '0.3' };
  const hangs = { QUERN_EMULATED_HANGS: 'l2_norm*' };

  test('DEVICE_FAILED names the kernel; the backend stays failed and can be disposed; a new one works', () =>
    withSettings(soon, async () => {
      const backend = await createBackend();
      const other = backend.kvBuffer({ dtype: 'f32', blocks: 1, blockSize: 16, heads: 1, headDim: 8 });
      await withSettings(hangs, async () => {
        await expect(normalised(backend, [3, 4])).rejects.toMatchObject({
          code: 'DEVICE_FAILED',
          message: expect.stringMatching(
            /the kernel l2_normalise did not end on cuda:0 \(emulated GPU\) within 0\.3 seconds \(QUERN_CUDA_WAIT\); .*start a new process/,
          ),
        });
      });
      await expect(normalised(backend, [3, 4])).rejects.toThrow(
        /has failed before \(the kernel l2_normalise did not end/,
      );
      other.dispose();
      backend.dispose(); // of the emulated GPU, the functions that end a context or free memory would never return
      using fresh = await createBackend();
      expect(await normalised(fresh, [1, 0])).toEqual([1, 0]);
    }));

  test('before an output that pinned memory has no room for', () =>
    withSettings({ ...soon, ...hangs }, async () => {
      const backend = await createBackend();
      const large = new Array<number>(1_100_000).fill(1);
      await expect(normalised(backend, large)).rejects.toThrow(
        /the kernel l2_normalise did not end on cuda:0/,
      );
      backend.dispose();
    }));

  test('in a graph: all kernels of the graph are named', () =>
    withSettings(soon, async () => {
      const backend = await createBackend();
      const replay = await captured(backend);
      await replay();
      expect(await replay()).toEqual(result);
      await withSettings(hangs, async () => {
        await expect(replay()).rejects.toThrow(/one of the kernels l2_normalise, add did not end on cuda:0/);
      });
      backend.dispose();
    }));

  test('memory for a cache is not zeroed: DEVICE_FAILED, too', () =>
    withSettings(soon, async () => {
      using backend = await createBackend();
      await withSettings({ QUERN_EMULATED_HANGS: 'memset' }, async () => {
        expect(() =>
          backend.kvBuffer({ dtype: 'f32', blocks: 1, blockSize: 16, heads: 1, headDim: 8 }),
        ).toThrow(
          expect.objectContaining({
            code: 'DEVICE_FAILED',
            message: expect.stringMatching(/^zeroing memory did not end on cuda:0/),
          }),
        );
      });
    }));

  test.each(['x', '0', '-1'])('QUERN_CUDA_WAIT=%s', (value) =>
    withSettings({ QUERN_CUDA_WAIT: value }, async () => {
      await expect(createBackend()).rejects.toMatchObject({
        code: 'BAD_ARGUMENT',
        message: expect.stringMatching(/QUERN_CUDA_WAIT=.*: it must be a number of seconds above 0/),
      });
    }),
  );
});

describe('a device that falls off the bus', () => {
  test.each([1, 2])(
    'after %i launches of a plan: DEVICE_FAILED; no backend can be made; later one works',
    async (launches) => {
      const backend = await createBackend();
      const replay = await captured(backend);
      expect(await replay()).toEqual(result);
      await replay();
      await withSettings({ QUERN_EMULATED_LOST: `${launches}` }, async () => {
        await expect(replay()).rejects.toMatchObject({
          code: 'DEVICE_FAILED',
          message: expect.stringMatching(
            /after one of the kernels l2_normalise, add failed on cuda:0 .*CUDA_ERROR_UNKNOWN.*start a new process.*Xid/,
          ),
        });
        await expect(replay()).rejects.toThrow(/has failed before/);
        await expect(createBackend()).rejects.toMatchObject({
          code: 'DEVICE_FAILED',
          message: expect.stringMatching(/^making a context failed: CUDA_ERROR_UNKNOWN/),
        });
        backend.dispose();
      });
      using fresh = await createBackend();
      expect(await normalised(fresh, [1, 0])).toEqual([1, 0]);
    },
  );
});

describe('captures that the driver refuses', () => {
  const refuses = { QUERN_EMULATED_CAPTURES: '0' };

  test('DEVICE_FAILED; the backend goes on', async () => {
    using backend = await createBackend();
    const replay = await captured(backend);
    await replay();
    await withSettings(refuses, async () => {
      await expect(replay()).rejects.toMatchObject({
        code: 'DEVICE_FAILED',
        message: expect.stringMatching(
          /CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.*; QUERN_CUDA_GRAPHS=0 works without captures$/,
        ),
      });
    });
    expect(await replay()).toEqual(result);
    expect(await normalised(backend, [1, 0])).toEqual([1, 0]);
  });

  test('QUERN_CUDA_GRAPHS=0: there are none', () =>
    withSettings({ ...refuses, QUERN_CUDA_GRAPHS: '0' }, async () => {
      using backend = await createBackend();
      const replay = await captured(backend);
      for (let i = 0; i < 3; i++) expect(await replay()).toEqual(result);
    }));
});
