// Products of 9 to 128 rows on the emulated device: which kernel serves them, and what it gives.
import './emulated.js';
import { knownCodecs } from '@quern/conformance';
import type { Backend, Weight } from '@quern/core';
import { gpuFormats } from '@quern/native-runtime';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { bf16Matrix, blockMatrix, load, type Matrix, uniform } from './matrices.js';

const [N, K] = [70, 512];

async function product(backend: Backend, w: Weight, x: Float32Array, options = {}) {
  using step = backend.step();
  return await step.read(backend.linear(step.input(x, [x.length / K, K]), w, options));
}

/** |difference| ≤ 2⁻⁷ of the sum of |terms|. */
function expectProduct(y: ArrayLike<number | bigint>, x: Float32Array, w: Float32Array, bias: Float32Array) {
  let worst = 0;
  for (let i = 0; i < y.length; i++) {
    const [t, n] = [Math.floor(i / N), i % N];
    let [sum, terms] = [bias[n]!, 0];
    for (let k = 0; k < K; k++) {
      const term = x[t * K + k]! * w[n * K + k]!;
      sum += term;
      terms += Math.abs(term);
    }
    const apart = Math.abs(Number(y[i]) - sum) / (terms / 128 + 1e-6);
    worst = Math.max(worst, apart);
  }
  expect(worst).toBeLessThanOrEqual(1);
}

/** Whether a product of `rows` rows launches `kernel`: it fails where this launch does. */
async function launches(kernel: string, matrix: Matrix, rows: number, options = {}): Promise<boolean> {
  using backend = await createBackend(options);
  const w = await load(backend, matrix, [N, K]);
  let failed = false;
  await withSettings({ QUERN_EMULATED_FAILS: kernel }, async () => {
    await product(backend, w, uniform(rows * K, 1)).catch(({ code }) => {
      failed = code === 'DEVICE_FAILED';
    });
  });
  return failed;
}

const codecs = knownCodecs.filter(({ format }) => gpuFormats.includes(format));

async function agrees(matrix: Matrix, rows: number, parts: number): Promise<void> {
  await withSettings({ QUERN_CUDA_ROWS: `${parts}` }, async () => {
    using backend = await createBackend();
    const [w, x, shift] = [await load(backend, matrix, [N, K]), uniform(rows * K, 1), uniform(N, 2)];
    const bytes = new Uint8Array(shift.buffer);
    const bias = await backend.loadWeight({ name: 'bias', shape: [N], format: 'f32', bytes });
    expectProduct(await product(backend, w, x, { bias }), x, matrix.values, shift);
    expect(await launches('row_sums', matrix, rows)).toBe(parts > 1);
  });
}

test.each(codecs)('$format', async (codec) => {
  const matrix = blockMatrix(codec, N * K);
  await agrees(matrix, 9, 1);
  await agrees(matrix, 65, 3);
  expect(await launches(`linear_rows_64_${codec.format}`, matrix, 65)).toBe(true);
});

test.each([
  [9, 16],
  [17, 32],
  [33, 64],
  [64, 64],
])('bf16, %d rows in tiles of %d', async (rows, height) => {
  const matrix = bf16Matrix(N, K, 3);
  await agrees(matrix, rows, 2);
  expect(await launches(`linear_rows_${height}_bf16`, matrix, rows)).toBe(true);
});

test('q, k and v share the fragments of x if their formats read the same', async () => {
  const none = new Float32Array(N);
  const matrices = ['q4_0', 'q4_k', 'q8_0'].map((format) =>
    blockMatrix(codecs.find((c) => c.format === format)!, N * K),
  );
  const x = uniform(12 * K, 1);
  using backend = await createBackend();
  const weights = await Promise.all(matrices.map((w) => load(backend, w, [N, K])));
  using step = backend.step();
  const input = step.input(x, [12, K]);
  const outputs = weights.map((w) => backend.linear(input, w));
  for (const y of outputs) step.keep(y);
  await step.run();
  for (const [i, y] of outputs.entries()) expectProduct(await step.read(y), x, matrices[i]!.values, none);
});

test('other products have other kernels', async () => {
  const matrix = bf16Matrix(N, K, 3);
  for (const rows of [8, 65]) expect(await launches('row_fragments', matrix, rows)).toBe(false);
  expect(await launches('row_fragments', matrix, 9, { precision: 'exact' })).toBe(false);
  await withSettings({ QUERN_CUDA_ROWS: '0' }, async () =>
    expect(await launches('row_fragments', matrix, 9)).toBe(false),
  );
});
