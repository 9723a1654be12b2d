import { precisions } from '@quern/core';
import { createBackend } from '../src/index.js';

test('adds', async () => {
  const b = await createBackend();
  const step = b.step();
  const y = b.add(step.input(Float32Array.of(1, 2)), step.input(Float32Array.of(3, 4)));
  expect(await step.read(y)).toEqual(Float32Array.of(4, 6));
  b.dispose();
});

test('takes every precision and is exact', async () => {
  for (const precision of precisions) {
    using b = await createBackend({ precision });
    expect(b.profile.precision).toBe('exact');
  }
  await expect(createBackend({ precision: 'best' })).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringContaining("'fast' or 'standard' or 'exact'"),
  });
});
