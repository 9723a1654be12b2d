// What goes wrong with a GPU, on the emulated device.
import './emulated.js';
import { failureTests } from '../../gpu/test/failure-tests.js';
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
});
