// Products of many rows with operands prepared as bf16, on the emulated device.
import './emulated.js';
import { knownCodecs } from '@quern/conformance';
import type { Backend, Weight } from '@quern/core';
import { gpuFormats } from '@quern/native-runtime';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { bf16Matrix, blockMatrix, load, type Matrix, uniform } from './matrices.js';

const [T, N, K] = [66, 130, 512];

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

/** For machines where much else runs. */
const patience = 60_000;

/** Slabs of 64 columns. */
const settings = { QUERN_CUDA_SLAB: '64', QUERN_CUDA_PRODUCT: '64x64 2' };

const codecs = knownCodecs.filter(({ format }) => gpuFormats.includes(format));

test.each(codecs)(
  'slabs and parts of k, $format',
  (codec) =>
    withSettings(settings, async () => {
      const matrix = blockMatrix(codec, N * K);
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
  patience,
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
  patience,
);

test(
  'compute capability 9.0 multiplies by warpgroups',
  () => isServedBy('product_bf16_warpgroups_128x256', bf16Matrix(N, K, 4)),
  patience,
);

test.each(['80', '100'])(
  'capability %s has no products by warpgroups',
  (compute) =>
    withSettings(
      { QUERN_EMULATED_COMPUTE: compute, QUERN_CUDA_PRODUCT: 'warpgroups_128x128 1' },
      async () => {
        const multiplied = async () => {
          using backend = await createBackend(); // measures rates, if they are not known
          return await product(backend, await load(backend, bf16Matrix(N, K, 4), [N, K]), uniform(T * K, 1));
        };
        await expect(multiplied()).rejects.toMatchObject({ code: 'UNSUPPORTED' });
      },
    ),
  patience,
);

test(
  'a captured product by warpgroups runs again',
  () =>
    withSettings({ QUERN_CUDA_PRODUCT: 'warpgroups_128x256 1' }, async () => {
      const matrix = bf16Matrix(N, K, 4);
      using backend = await createBackend();
      const w = await load(backend, matrix, [N, K]);
      for (let seed = 1; seed <= 3; seed++) {
        const x = uniform(T * K, seed);
        expectProduct(await product(backend, w, x), x, matrix.values, [T, N, K]);
      }
    }),
  patience,
);

test(
  'bf16 with rows that do not begin at 16 bytes',
  async () => {
    const [columns, depth] = [33, 69];
    const matrix = bf16Matrix(columns, depth, 5);
    using backend = await createBackend();
    const x = uniform(T * depth, 1);
    const w = await load(backend, matrix, [columns, depth]);
    expectProduct(await product(backend, w, x), x, matrix.values, [T, columns, depth]);
  },
  patience,
);

test(
  "f16 is rounded to bf16 with 'fast' alone",
  async () => {
    const ones: Matrix = {
      format: 'f16',
      bytes: new Uint8Array(new Uint16Array(N * K).fill(0x3c00).buffer),
      values: new Float32Array(N * K).fill(1),
    };
    await isServedBy('bf16_rows_f16', ones, { precision: 'fast' });
    await expect(isServedBy('bf16_rows_f16', ones)).rejects.toThrow();
    await expect(isServedBy('bf16_rows_f32', bf16Matrix(N, K, 4), { precision: 'exact' })).rejects.toThrow();
  },
  patience,
);

test(
  'q, k and v share the rounded x',
  async () => {
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
  },
  patience,
);
