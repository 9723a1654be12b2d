// What goes wrong on the backend of an emulated GPU.
import type { Backend } from '@quern/core';
import { withSettings } from './settings.js';

/** x / ‖x‖ of one row. */
export async function normalised(backend: Backend, x: readonly number[]): Promise<number[]> {
  using step = backend.step();
  const row = step.input(Float32Array.from(x), [1, x.length]);
  return Array.from(await step.read(backend.l2Normalise(row)), Number);
}

interface Faults {
  /** The message of a launch that fails. */
  readonly failure: RegExp;
  /** Where there is too little memory. */
  readonly memory: RegExp;
  /** What another backend of the device says after a failed launch; undefined: it works on. */
  readonly other?: RegExp;
}

export function failureTests(
  createBackend: () => Promise<Backend>,
  { failure, memory, other }: Faults,
): void {
  test('a failed launch rejects, the backend stays failed, a new one works', async () => {
    using backend = await createBackend();
    await withSettings({ QUERN_EMULATED_FAILS: 'l2_normalise' }, async () => {
      const failed = normalised(backend, [3, 4]);
      await expect(failed).rejects.toMatchObject({
        code: 'DEVICE_FAILED',
        message: expect.stringMatching(failure),
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

  test('two backends on one device, one fails', async () => {
    using first = await createBackend();
    using second = await createBackend();
    await withSettings({ QUERN_EMULATED_FAILS: 'l2_normalise' }, async () => {
      await expect(normalised(first, [1, 0])).rejects.toMatchObject({ code: 'DEVICE_FAILED' });
    });
    const next = normalised(second, [1, 0]);
    if (!other) return expect(await next).toEqual([1, 0]);
    await expect(next).rejects.toMatchObject({
      code: 'DEVICE_FAILED',
      message: expect.stringMatching(other),
    });
    using third = await createBackend();
    expect(await normalised(third, [1, 0])).toEqual([1, 0]);
  });

  test('memory that another process has taken', async () => {
    using backend = await createBackend();
    const buffer = () =>
      backend.kvBuffer({ dtype: 'f32', blocks: 64, blockSize: 1024, heads: 8, headDim: 128 });
    await withSettings({ QUERN_EMULATED_TAKEN: '4000' }, async () => {
      expect(buffer).toThrow(
        expect.objectContaining({
          code: 'OUT_OF_MEMORY',
          message: expect.stringMatching(memory),
        }),
      );
    });
    buffer().dispose();
  });

  test.each([4, 20])('attention of %d rows without a sequence', async (rows) => {
    using backend = await createBackend();
    const cache = () => backend.kvBuffer({ dtype: 'f16', blocks: 1, blockSize: 16, heads: 1, headDim: 16 });
    using k = cache();
    using v = cache();
    using step = backend.step();
    const ints = (values: readonly number[], shape: readonly number[]) =>
      step.input(Int32Array.from(values), shape);
    const none = ints([], [0]);
    const batch = {
      cuSeqlens: ints([0], [1]),
      kvLengths: none,
      blockTable: ints([], [0, 1]),
      positions: none,
      slots: none,
      lastRows: none,
    };
    const q = step.input(new Float32Array(rows * 16), [rows, 1, 16]);
    const y = backend.attention(q, { k, v }, batch, {
      heads: 1,
      kvHeads: 1,
      headDim: 16,
      scale: 1,
      causal: true,
    });
    await expect(step.read(y)).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
  });
}
