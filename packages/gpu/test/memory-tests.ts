// Weights on their way to the device, and too little memory, on the emulated device.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend, Weight, WeightSource } from '@quern/core';
import { withSettings } from './settings.js';

/** On the backend of an emulated GPU, whose name errors have. lends: dense weights stay in their file. */
export function memoryTests(createBackend: () => Promise<Backend>, gpu: string, lends = false): void {
  const folder = mkdtempSync(join(tmpdir(), 'quern-memory-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Two slots of staging memory (staging.h) have 8 MiB: these weights fill each slot again. */
  const width = 1024;
  const rows = { f32: 3072, q8_0: 12_288 };
  const rest = 5; // rows

  /** The value in a row and column; f32 and q8_0 hold it exactly. */
  const valueAt = (row: number, column: number) => ((row * 31 + column * 7) % 255) - 127;

  function floats(height: number, stored = width): Uint8Array {
    const values = Float32Array.from({ length: height * stored }, (_, i) =>
      valueAt(Math.floor(i / stored), i % stored),
    );
    return new Uint8Array(values.buffer);
  }

  /** Blocks of q8_0: a scale of 1 as f16, 32 signed bytes. */
  function blocks(height: number): Uint8Array {
    const bytes = new Uint8Array((height * width * 34) / 32);
    for (let at = 0, i = 0; at < bytes.length; at += 34) {
      bytes[at + 1] = 0x3c;
      for (let j = 0; j < 32; j++, i++) bytes[at + 2 + j] = valueAt(Math.floor(i / width), i % width);
    }
    return bytes;
  }

  const sourceOf = (format: 'f32' | 'q8_0', bytes: WeightSource['bytes']): WeightSource => ({
    name: 'w',
    shape: [rows[format] + rest, width],
    format,
    bytes,
  });

  function stored(bytes: Uint8Array): { path: string; offset: number; byteLength: number } {
    const path = join(folder, 'weights');
    writeFileSync(path, bytes);
    return { path, offset: 0, byteLength: bytes.length };
  }

  /** Rows of a matrix from all its parts, the last one too. */
  async function someRows(backend: Backend, w: Weight): Promise<void> {
    const height = w.shape[0]!;
    const ids = [0, 1, 1023, 1024, 2047, 2048, height - 2, height - 1, Math.floor(height / 2)];
    using step = backend.step();
    const read = await step.read(backend.embed(w, step.input(Int32Array.from(ids), [ids.length])));
    const expected = ids.flatMap((row) => Array.from({ length: width }, (_, column) => valueAt(row, column)));
    expect(Array.from(read, Number)).toEqual(expected);
  }

  const makes = { f32: floats, q8_0: blocks };
  const formats = ['f32', 'q8_0'] as const;

  describe.each([
    ['pinned', {}],
    ['pageable, where pinning is refused', { QUERN_EMULATED_PINNED: '0' }],
  ])('staging memory: %s', (_, settings) => {
    test.each(formats)('%s from a file', (format) =>
      withSettings(settings, async () => {
        using backend = await createBackend();
        const bytes = makes[format](rows[format] + rest);
        await someRows(backend, await backend.loadWeight(sourceOf(format, stored(bytes))));
      }),
    );

    test('columns, in two parts', () =>
      withSettings(settings, async () => {
        using backend = await createBackend();
        const [above, below] = [2048, rows.f32 + rest - 2048];
        const bytes = stored(floats(rows.f32 + rest, width + 96));
        const row = 4 * (width + 96);
        const columns = { from: 0, of: width + 96 };
        const parts = [
          { bytes: { ...bytes, byteLength: above * row }, rows: above, columns },
          { bytes: { ...bytes, offset: above * row, byteLength: below * row }, rows: below, columns },
        ];
        await someRows(backend, await backend.loadWeight(sourceOf('f32', parts)));
      }));
  });

  test('several weights, one after another', async () => {
    using backend = await createBackend();
    const w = await Promise.all(
      formats.map((format) => backend.loadWeight(sourceOf(format, makes[format](rows[format] + rest)))),
    );
    for (const each of w) await someRows(backend, each);
  });

  describe('a load that fails leaves nothing behind', () => {
    /** Rejects as `message` says; the device has as much memory free as before. */
    async function fails(
      source: WeightSource,
      settings: Record<string, string>,
      code: string,
      message: RegExp,
    ) {
      using backend = await createBackend();
      const before = backend.freeMemory();
      await withSettings(settings, async () => {
        await expect(backend.loadWeight(source)).rejects.toMatchObject({
          code,
          message: expect.stringMatching(message),
        });
      });
      expect(backend.freeMemory()).toBe(before);
      const whole = makes.f32(rows.f32 + rest); // and the backend goes on
      await someRows(backend, await backend.loadWeight(sourceOf('f32', whole)));
    }

    test.each(lends ? ['q8_0' as const] : formats)(
      'a file that is cut while it is loaded, %s',
      async (format) => {
        const bytes = stored(makes[format](rows[format] + rest));
        const cut = { QUERN_EMULATED_CUTS: bytes.path };
        const message =
          /^weight 'w': .*weights could not be read to its end.*now has 4096; load the model again/;
        await fails(sourceOf(format, bytes), cut, 'BAD_WEIGHT', message);
        expect(statSync(bytes.path).size).toBe(4096);
      },
    );

    test('a file that was written to', async () => {
      const bytes = stored(makes.q8_0(rows.q8_0 + rest));
      const touched = { QUERN_EMULATED_TOUCHES: bytes.path };
      await fails(
        sourceOf('q8_0', bytes),
        touched,
        'BAD_WEIGHT',
        /^weight 'w': .*was written to while it was loaded/,
      );
    });

    test('a second part past the end of its file', () => {
      const bytes = stored(floats(rows.f32 + rest));
      const [above, below] = [2048, rows.f32 + rest - 2048];
      const parts = [
        { bytes: { ...bytes, byteLength: above * 4 * width }, rows: above },
        { bytes: { ...bytes, offset: above * 4 * width + 4, byteLength: below * 4 * width }, rows: below },
      ];
      return fails(sourceOf('f32', parts), {}, 'BAD_WEIGHT', /^weight 'w': .*the file may be truncated/);
    });

    /** Megabytes that another process takes, so that 12 are left: suites before this one in the process may have left some behind. */
    async function almostAll(): Promise<string> {
      using backend = await createBackend();
      const uncounted = lends ? 0 : 4; // for staging
      return String(Math.floor(backend.freeMemory() / 2 ** 20) + uncounted - 12);
    }

    test('too little memory, with the bytes asked for and free', async () =>
      fails(
        sourceOf('f32', floats(rows.f32 + rest)),
        { QUERN_EMULATED_TAKEN: await almostAll() },
        'OUT_OF_MEMORY',
        new RegExp(
          `^weight 'w': 12\\.0 MiB of memory were asked for \\(12603392 bytes\\), but ${gpu} \\(emulated GPU\\) has \\d.* MiB free`,
        ),
      ));

    test('no memory at all', () =>
      fails(
        sourceOf('f32', floats(rows.f32 + rest)),
        { QUERN_EMULATED_TAKEN: '4096' },
        'OUT_OF_MEMORY',
        /^weight 'w': .*asked for.* has 0.* free/,
      ));
  });
}
