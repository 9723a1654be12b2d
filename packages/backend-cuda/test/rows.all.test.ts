// Products of 3 to 128 rows on the emulated device: which kernel serves them, and what it gives.
import './emulated.js';
import { knownCodecs } from '@quern/conformance';
import type { Backend, Step, Weight } from '@quern/core';
import { gpuFormats } from '@quern/native-runtime';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { launchesOfStep } from './launches.js';
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

const matrixOf = (format: string, rows = N) =>
  blockMatrix(codecs.find((c) => c.format === format)!, rows * K);

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

test.each([
  ['one format', ['q4_k', 'q4_k', 'q4_k'], 1, { row_fragments: 1, linear_rows_16_q4_k: 1 }],
  ['one format', ['q4_k', 'q4_k', 'q4_k'], 2, { row_fragments: 1, linear_rows_16_q4_k: 1, row_sums: 1 }],
  [
    'v of another',
    ['q4_k', 'q4_k', 'q6_k'],
    1,
    { row_fragments: 1, linear_rows_16_q4_k: 1, linear_rows_16_q6_k: 1 },
  ],
  [
    'fragments of another kind',
    ['q4_k', 'q4_k', 'q8_0'],
    2,
    { row_fragments: 2, linear_rows_16_q4_k: 1, linear_rows_16_q8_0: 1, row_sums: 1 },
  ],
])('q, k and v, %s: %j in %d parts', async (_, formats, parts, expected) => {
  const matrices = formats.map((format) => matrixOf(format));
  const x = uniform(12 * K, 1);
  using backend = await createBackend();
  const weights = await Promise.all(matrices.map((w) => load(backend, w, [N, K])));
  await withSettings({ QUERN_CUDA_ROWS: `${parts}` }, async () => {
    const { launches, results } = await launchesOfStep(backend, (step) => {
      const input = step.input(x, [12, K]);
      return weights.map((w) => backend.linear(input, w));
    });
    expect(launches).toEqual(expected);
    for (const [i, y] of results.entries()) expectProduct(y, x, matrices[i]!.values, new Float32Array(N));
  });
});

test.each([
  [3, 1, { row_fragments: 1, linear_rows_16_q4_k: 1 }],
  [20, 2, { row_fragments: 1, linear_rows_32_q4_k: 1, row_sums: 1 }],
])('gate, up and swiglu of %d rows in %d parts', async (rows, parts, expected) => {
  const matrices = [matrixOf('q4_k'), matrixOf('q4_k', N)];
  const x = uniform(rows * K, 1).map((value) => value / 64);
  using backend = await createBackend();
  const [gate, up] = [await load(backend, matrices[0]!, [N, K]), await load(backend, matrices[1]!, [N, K])];
  await withSettings({ QUERN_CUDA_ROWS: `${parts}` }, async () => {
    const input = (step: Step) => step.input(x, [rows, K]);
    const gated = await launchesOfStep(backend, (step) => {
      const of = input(step);
      return [backend.swiglu(backend.linear(of, gate), backend.linear(of, up))];
    });
    expect(gated.launches).toEqual(expected);
    const { results } = await launchesOfStep(backend, (step) => {
      const of = input(step);
      return [backend.linear(of, gate), backend.linear(of, up)];
    });
    const [g, u] = results.map((y) => Array.from(y, Number));
    const silu = (value: number) => value / (1 + Math.exp(-value));
    const apart = Array.from(
      gated.results[0]!,
      (y, i) => Math.abs(Number(y) - silu(g![i]!) * u![i]!) / (1 + Math.abs(silu(g![i]!) * u![i]!)),
    );
    expect(Math.max(...apart)).toBeLessThan(1e-4);
  });
});

test.each([
  ['q4_k', 2, {}, false],
  ['q4_k', 3, {}, true],
  ['q4_k', 3, { precision: 'exact' }, false],
  ['q4_k', 128, {}, true],
  ['q4_k', 129, {}, false],
])('%s, %d rows, %j on tensor cores from registers: %s', async (format, rows, options, expected) => {
  expect(await launches('row_fragments', matrixOf(format), rows, options)).toBe(expected);
});

test.each([
  ['half a pair per expert', 8, 20, 'linear_rows_16_q4_k'],
  ['less', 32, 12, 'expert_linear_q4_k'],
])('a mixture with %s', async (_, experts, rows, kernel) => {
  const matrix = matrixOf('q4_k', experts * N);
  const x = uniform(rows * K, 1);
  const ids = Int32Array.from({ length: rows }, (_value, i) => (i * 5) % experts);
  using backend = await createBackend();
  const w = await load(backend, matrix, [experts, N, K]);
  const { launches, results } = await launchesOfStep(backend, (step) => [
    backend.expertLinear(step.input(x, [rows, K]), w, step.input(ids, [rows, 1])),
  ]);
  expect(launches[kernel]).toBe(1);
  for (let t = 0; t < rows; t++)
    expectProduct(
      Array.from(results[0]!, Number).slice(t * N, (t + 1) * N),
      x.subarray(t * K, (t + 1) * K),
      matrix.values.subarray(ids[t]! * N * K, (ids[t]! + 1) * N * K),
      new Float32Array(N),
    );
});

test('other products have other kernels', async () => {
  const matrix = bf16Matrix(N, K, 3);
  for (const rows of [8, 65]) expect(await launches('row_fragments', matrix, rows)).toBe(false);
  expect(await launches('row_fragments', matrix, 9, { precision: 'exact' })).toBe(false);
  await withSettings({ QUERN_CUDA_ROWS: '0' }, async () =>
    expect(await launches('row_fragments', matrix, 9)).toBe(false),
  );
});
