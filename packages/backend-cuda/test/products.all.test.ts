// Products of many rows with operands prepared as bf16, on the emulated device.
import './emulated.js';
import { knownCodecs } from '@quern/conformance';
import type { Backend, Weight, WeightFormat } from '@quern/core';
import { random } from '@quern/core/testing';
import { ggufFormats } from '../src/formats.js';
import { createBackend } from '../src/index.js';
import { withSettings } from './settings.js';

const [T, N, K] = [70, 150, 512];

function uniform(count: number, seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: count }, () => 2 * next() - 1);
}

interface Matrix {
  readonly format: WeightFormat;
  readonly bytes: Uint8Array;
  readonly values: Float32Array;
}

/** [rows, width], with the upper half of f32 as bf16. */
function bf16Matrix(rows: number, width: number, seed: number): Matrix {
  const values = uniform(rows * width, seed);
  const words = new Uint32Array(values.buffer).map((word) => word & 0xffff0000);
  const bytes = new Uint8Array(Uint16Array.from(words, (word) => word >>> 16).buffer);
  return { format: 'bf16', bytes, values: new Float32Array(words.buffer) };
}

/** [N, K] of blocks with moderate values, out of 31. */
function blockMatrix({ format, blockSize, blockBytes, decode }: (typeof knownCodecs)[0]): Matrix {
  const next = random(3);
  let last = new Uint8Array(blockBytes);
  const blocks: Uint8Array[] = [];
  while (blocks.length < 31) {
    const block = last.map((byte) => (next() < 0.5 ? 256 * next() : byte));
    const moderate = decode(block, blockSize).every((value) => Math.abs(value) < 16);
    if (!moderate) continue;
    blocks.push(block);
    last = block;
  }
  const bytes = new Uint8Array((N * K * blockBytes) / blockSize);
  for (let i = 0; i < bytes.length / blockBytes; i++) bytes.set(blocks[i % 31]!, i * blockBytes);
  return { format, bytes, values: decode(bytes, N * K) };
}

const load = (backend: Backend, { format, bytes }: Matrix, shape: readonly number[]) =>
  backend.loadWeight({ name: 'w', shape, format, bytes });

/** How far y may be from x · wᵀ + bias: |difference| ≤ 2⁻⁷ of the sum of |terms|. */
function expectProduct(
  y: ArrayLike<number | bigint>,
  x: Float32Array,
  w: Float32Array,
  [rows, columns, depth]: readonly [number, number, number],
  bias?: Float32Array,
): void {
  let worst = 0;
  for (let t = 0; t < rows; t++)
    for (let n = 0; n < columns; n++) {
      let [sum, terms] = [bias?.[n] ?? 0, 0];
      for (let k = 0; k < depth; k++) {
        const term = x[t * depth + k]! * w[n * depth + k]!;
        sum += term;
        terms += Math.abs(term);
      }
      const apart = Math.abs(Number(y[t * columns + n]) - sum) / (terms / 128 + 1e-6);
      worst = Math.max(worst, apart); // NaN is worst
    }
  expect(worst).toBeLessThanOrEqual(1);
}

async function product(backend: Backend, w: Weight, x: Float32Array, bias?: Weight) {
  using step = backend.step();
  const rows = step.input(x, [x.length / w.shape[1]!, w.shape[1]!]);
  return await step.read(backend.linear(rows, w, bias ? { bias } : {}));
}

/** A product of `matrix` fails where the launch of `kernel` does: the kernel serves it. */
async function isServedBy(kernel: string, matrix: Matrix, options = {}): Promise<void> {
  using backend = await createBackend(options);
  const w = await load(backend, matrix, [N, K]);
  await withSettings({ QUERN_EMULATED_FAILS: kernel }, async () => {
    await expect(product(backend, w, uniform(T * K, 1))).rejects.toMatchObject({ code: 'DEVICE_FAILED' });
  });
}

/** Slabs of 64 columns. */
const settings = { QUERN_CUDA_SLAB: '64', QUERN_CUDA_PRODUCT: '64x64 2' };

const codecs = knownCodecs.filter(({ format }) => ggufFormats.includes(format));

test.each(codecs)('slabs and parts of k, $format', (codec) =>
  withSettings(settings, async () => {
    const matrix = blockMatrix(codec);
    using backend = await createBackend();
    const [w, x, shift] = [await load(backend, matrix, [N, K]), uniform(T * K, 1), uniform(N, 2)];
    const bias = await backend.loadWeight({
      name: 'bias',
      shape: [N],
      format: 'f32',
      bytes: new Uint8Array(shift.buffer),
    });
    expectProduct(await product(backend, w, x, bias), x, matrix.values, [T, N, K], shift);
    await isServedBy('product_parts', matrix);
    await isServedBy(`bf16_rows_${codec.format}`, matrix);
  }),
);

test.each(['warpgroups_128x256 1', 'warpgroups_128x128 2', '128x256 1', '128x128 3', '64x64 1'])(
  'bf16 as stored, kernel %s',
  (kernel) =>
    withSettings({ QUERN_CUDA_PRODUCT: kernel }, async () => {
      const matrix = bf16Matrix(N, K, 4);
      using backend = await createBackend();
      const x = uniform(T * K, 1);
      expectProduct(await product(backend, await load(backend, matrix, [N, K]), x), x, matrix.values, [
        T,
        N,
        K,
      ]);
      await isServedBy(`product_bf16_${kernel.split(' ')[0]}`, matrix);
      await expect(isServedBy('bf16_rows_bf16', matrix)).rejects.toThrow();
    }),
);

test('compute capability 9.0 multiplies by warpgroups', () =>
  isServedBy('product_bf16_warpgroups_128x128', bf16Matrix(N, K, 4)));

test.each(['80', '100'])('capability %s has no products by warpgroups', (compute) =>
  withSettings({ QUERN_EMULATED_COMPUTE: compute, QUERN_CUDA_PRODUCT: 'warpgroups_128x128 1' }, async () => {
    using backend = await createBackend();
    const w = await load(backend, bf16Matrix(N, K, 4), [N, K]);
    await expect(product(backend, w, uniform(T * K, 1))).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  }),
);

test('a captured product by warpgroups runs again', () =>
  withSettings({ QUERN_CUDA_PRODUCT: 'warpgroups_128x256 1' }, async () => {
    const matrix = bf16Matrix(N, K, 4);
    using backend = await createBackend();
    const w = await load(backend, matrix, [N, K]);
    for (let seed = 1; seed <= 3; seed++) {
      const x = uniform(T * K, seed);
      expectProduct(await product(backend, w, x), x, matrix.values, [T, N, K]);
    }
  }));

test('bf16 with rows that do not begin at 16 bytes', async () => {
  const [columns, depth] = [33, 69];
  const matrix = bf16Matrix(columns, depth, 5);
  using backend = await createBackend();
  const x = uniform(T * depth, 1);
  const w = await load(backend, matrix, [columns, depth]);
  expectProduct(await product(backend, w, x), x, matrix.values, [T, columns, depth]);
});

test("f16 is rounded to bf16 with 'fast' alone", async () => {
  const ones: Matrix = {
    format: 'f16',
    bytes: new Uint8Array(new Uint16Array(N * K).fill(0x3c00).buffer),
    values: new Float32Array(N * K).fill(1),
  };
  await isServedBy('bf16_rows_f16', ones, { precision: 'fast' });
  await expect(isServedBy('bf16_rows_f16', ones)).rejects.toThrow();
  await expect(isServedBy('bf16_rows_f32', bf16Matrix(N, K, 4), { precision: 'exact' })).rejects.toThrow();
});

test('q, k and v share the rounded x', async () => {
  using backend = await createBackend();
  const matrices = [N, 40, 24].map((rows, i) => bf16Matrix(rows, K, i));
  const x = uniform(T * K, 1);
  const weights = await Promise.all(matrices.map((w) => load(backend, w, [w.values.length / K, K])));
  using step = backend.step();
  const input = step.input(x, [T, K]);
  const outputs = weights.map((w) => backend.linear(input, w));
  for (const y of outputs) step.keep(y);
  await step.run();
  for (const [i, y] of outputs.entries()) {
    const { values } = matrices[i]!;
    expectProduct(await step.read(y), x, values, [T, values.length / K, K]);
  }
});
