// Every weight format, decoded from a mapped file at unaligned offsets: embed is bit-exact, linear within rounding.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backend, defineBackend, denseFormats, f32ToF16, type Precision, precisions } from '@quern/core';
import { normal } from '@quern/core/testing';
import {
  byteLength,
  decode,
  encodeAll,
  formatNames,
  formats,
  type GgufFormat,
  isWritable,
} from '@quern/quant';
import { ggufFormats } from '../src/formats.js';
import { cpuDriver } from '../src/index.js';
import { testedIsas } from './isas.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-formats-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [rows, width] = [37, 256];
const values = Float32Array.from(normal(1, [rows, width]).values);

/** The rows in every format of the kernels, encoded once: encoding is slow. */
const native = formatNames.filter((format) => [...denseFormats, ...ggufFormats].includes(format));
const encoded = new Map(
  native.map((format) => [format, isWritable(format) ? encodeAll(format, values) : someBlocks(format)]),
);

/** Blocks of a format without encoder: random bits, with an f16 scale such that weights are about 1. */
function someBlocks(format: GgufFormat): Uint8Array {
  const blocks = Uint8Array.from({ length: byteLength(format, [rows, width]) }, (_, i) =>
    Math.floor(256 * Math.abs(values[i % values.length]! % 1)),
  );
  const scale = f32ToF16(format === 'iq4_xs' ? 1 / 1245 : 1 / 67);
  for (let at = 0; at < blocks.length; at += formats[format].blockBytes)
    blocks.set([scale & 0xff, scale >> 8], at);
  return blocks;
}

/** The rows as `format`, in a file after `offset` other bytes. */
function file(format: GgufFormat, offset: number) {
  const blocks = encoded.get(format)!;
  const path = join(folder, `${format}-${offset}`);
  writeFileSync(path, Buffer.concat([Buffer.alloc(offset, 0xee), blocks]));
  const floats = new Float32Array(rows * width);
  decode(format, blocks, 0, floats, 0, floats.length);
  const source = {
    name: path,
    shape: [rows, width],
    format,
    bytes: { path, offset, byteLength: byteLength(format, [rows, width]) },
  };
  return { source, floats };
}

const largest = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/**
 * x · wᵀ and Σ|x·w| in double precision, and the bound for 8-bit rounding. Normal: x by max|x| / 254 over spans of 32.
 * Superblock: x over spans of 256, and w by 0.57 · max|w| / 127 over spans of 256.
 */
function product(x: Float32Array, t: number, w: Float32Array, n: number, superblock: boolean) {
  let [sum, magnitude, rounding] = [0, 0, 0];
  const span = superblock ? 256 : 32;
  for (let start = 0; start < width; start += span) {
    const xs = x.subarray(t * width + start, t * width + Math.min(width, start + span));
    const ws = w.subarray(n * width + start, n * width + Math.min(width, start + span));
    const [dx, dw] = [largest(xs) / 254, superblock ? (0.57 * largest(ws)) / 127 : 0];
    xs.forEach((value, i) => {
      const weight = ws[i]!;
      sum += value * weight;
      magnitude += Math.abs(value * weight);
      rounding += Math.abs(weight) * dx + (Math.abs(value) + dx) * dw;
    });
  }
  return { sum, magnitude, rounding };
}

const isas = await testedIsas();

describe.each(isas)('%s', (isa) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = defineBackend(await cpuDriver({ isa, threads: 2 }));
  });
  afterAll(() => backend.dispose());

  test.each(native)('%s: embed gives the bits of quant', async (format) => {
    for (const offset of [0, 3, 34]) {
      const { source, floats } = file(format, offset);
      using table = await backend.loadWeight(source);
      using step = backend.step();
      const ids = Int32Array.from({ length: rows }, (_, i) => rows - 1 - i);
      const got = await step.read(backend.embed(table, step.input(ids)));
      const want = new Float32Array(rows * width);
      ids.forEach((id, i) => {
        want.set(floats.subarray(id * width, (id + 1) * width), i * width);
      });
      expect(
        Buffer.compare(Buffer.from(got.buffer, got.byteOffset, got.byteLength), Buffer.from(want.buffer)),
      ).toBe(0);
    }
  });

  test.each(native)('%s: linear is within rounding', async (format) => {
    for (const precision of precisions) await checkLinear(format, precision);
  });

  async function checkLinear(format: GgufFormat, precision: Precision): Promise<void> {
    using backend = defineBackend(await cpuDriver({ isa, threads: 2, precision }));
    const isExact = isa === 'scalar' || precision === 'exact';
    const { source, floats } = file(format, 2);
    using w = await backend.loadWeight(source);
    for (const T of [1, 7, 65]) {
      const x = Float32Array.from(normal(2, [T, width]).values);
      using step = backend.step();
      const y = await step.read(backend.linear(step.input(x, [T, width]), w));
      for (let t = 0; t < T; t++)
        for (let n = 0; n < rows; n++) {
          const { sum, magnitude, rounding } = product(x, t, floats, n, precision === 'fast' && T === 65);
          const allowed = 1e-7 + 2e-6 * magnitude + (isExact ? 0 : 1.001 * rounding);
          expect(Math.abs(y[t * rows + n]! - sum)).toBeLessThanOrEqual(allowed);
        }
    }
  }
});
