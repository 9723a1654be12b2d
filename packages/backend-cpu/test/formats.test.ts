// Every weight format, decoded from a mapped file at unaligned offsets: embed is bit-exact, linear within rounding.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Backend,
  defineBackend,
  denseFormats,
  f32ToF16,
  type HostArray,
  type Precision,
  precisions,
} from '@quern/core';
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

/** The largest magnitude of each span of `span` values in rows of `width`, [rows · width / span]. */
function largestOf(values: Float32Array, span: number): Float64Array {
  const largest = new Float64Array(values.length / span);
  values.forEach((value, i) => {
    const at = Math.floor(i / span);
    largest[at] = Math.max(largest[at]!, Math.abs(value));
  });
  return largest;
}

/** x · wᵀ and Σ|x·w| in double precision, [T, rows], and the bounds for 8-bit rounding. */
interface Products {
  readonly sums: Float64Array;
  readonly magnitudes: Float64Array;
  readonly rounding: Float64Array;
  readonly superblockRounding: Float64Array;
}

/**
 * Bounds for 8-bit rounding. Normal: x by max|x| / 254 over spans of 32. Superblock: x over spans of 256, and w by
 * 0.57 · max|w| / 127 over spans of 256.
 */
function productsOf(x: Float32Array, w: Float32Array): Products {
  const results = () => new Float64Array((x.length / width) * rows);
  const products = {
    sums: results(),
    magnitudes: results(),
    rounding: results(),
    superblockRounding: results(),
  };
  const [fine, coarse, weights] = [largestOf(x, 32), largestOf(x, 256), largestOf(w, 256)];
  for (let t = 0, at = 0; t < x.length / width; t++)
    for (let n = 0; n < rows; n++, at++) {
      let [sum, magnitude, rounding, superblock] = [0, 0, 0, 0];
      const [dxs, dw] = [coarse[t]! / 254, (0.57 * weights[n]!) / 127];
      for (let i = 0; i < width; i++) {
        const [value, weight] = [x[t * width + i]!, w[n * width + i]!];
        sum += value * weight;
        magnitude += Math.abs(value * weight);
        rounding += (Math.abs(weight) * fine[(t * width + i) >> 5]!) / 254;
        superblock += Math.abs(weight) * dxs + (Math.abs(value) + dxs) * dw;
      }
      products.sums[at] = sum;
      products.magnitudes[at] = magnitude;
      products.rounding[at] = rounding;
      products.superblockRounding[at] = superblock;
    }
  return products;
}

/** Rows of x, and their products with a format's weights: the same for every instruction set and precision. */
const inputs = new Map([1, 7, 65].map((T) => [T, Float32Array.from(normal(2, [T, width]).values)]));
const known = new Map<string, Products>();

function knownProducts(format: GgufFormat, T: number, floats: Float32Array): Products {
  const name = `${format} ${T}`;
  const products = known.get(name) ?? productsOf(inputs.get(T)!, floats);
  known.set(name, products);
  return products;
}

/** The largest error of a product, as a share of what is allowed. */
function worstShare(y: HostArray, { sums, magnitudes }: Products, rounding: Float64Array | undefined) {
  let worst = 0;
  Array.from(y).forEach((value, i) => {
    const allowed = 1e-7 + 2e-6 * magnitudes[i]! + 1.001 * (rounding?.[i] ?? 0);
    worst = Math.max(worst, Math.abs(value - sums[i]!) / allowed);
    if (Number.isNaN(value)) worst = Infinity;
  });
  return worst;
}

const isas = await testedIsas();

describe.each(isas)('%s', (isa) => {
  const backends = new Map<Precision, Backend>();
  beforeAll(async () => {
    for (const precision of precisions)
      backends.set(precision, defineBackend(await cpuDriver({ isa, threads: 2, precision })));
  });
  afterAll(() => {
    for (const backend of backends.values()) backend.dispose();
  });

  test.each(native)('%s: embed gives the bits of quant', async (format) => {
    const backend = backends.get('standard')!;
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
    const backend = backends.get(precision)!;
    const isExact = isa === 'scalar' || precision === 'exact';
    const { source, floats } = file(format, 2);
    using w = await backend.loadWeight(source);
    for (const [T, x] of inputs) {
      using step = backend.step();
      const y = await step.read(backend.linear(step.input(x, [T, width]), w));
      const products = knownProducts(format, T, floats);
      const rounding = precision === 'fast' && T === 65 ? products.superblockRounding : products.rounding;
      expect(worstShare(y, products, isExact ? undefined : rounding)).toBeLessThanOrEqual(1);
    }
  }
});
