// Products of 9 to 128 rows on the emulated device: which kernel serves them, and what it gives.
import './emulated.js';
import { knownCodecs } from '@quern/conformance';
import type { Backend, Weight, WeightFormat } from '@quern/core';
import { random } from '@quern/core/testing';
import { ggufFormats } from '../src/formats.js';
import { createBackend } from '../src/index.js';
import { withSettings } from './settings.js';

const [N, K] = [70, 512];

interface Matrix {
  readonly format: WeightFormat;
  readonly bytes: Uint8Array;
  readonly values: Float32Array;
}

function uniform(count: number, seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: count }, () => 2 * next() - 1);
}

/** [N, K] of the upper halves of floats. */
function bf16Matrix(): Matrix {
  const words = new Uint32Array(uniform(N * K, 3).buffer).map((word) => word & 0xffff0000);
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
    if (!decode(block, blockSize).every((value) => Math.abs(value) < 16)) continue;
    blocks.push(block);
    last = block;
  }
  const bytes = new Uint8Array((N * K * blockBytes) / blockSize);
  for (let i = 0; i < bytes.length / blockBytes; i++) bytes.set(blocks[i % 31]!, i * blockBytes);
  return { format, bytes, values: decode(bytes, N * K) };
}

const load = (backend: Backend, { format, bytes }: Matrix) =>
  backend.loadWeight({ name: 'w', shape: [N, K], format, bytes });

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
  const w = await load(backend, matrix);
  let failed = false;
  await withSettings({ QUERN_EMULATED_FAILS: kernel }, async () => {
    await product(backend, w, uniform(rows * K, 1)).catch(({ code }) => {
      failed = code === 'DEVICE_FAILED';
    });
  });
  return failed;
}

const codecs = knownCodecs.filter(({ format }) => ggufFormats.includes(format));

async function agrees(matrix: Matrix, rows: number, parts: number): Promise<void> {
  await withSettings({ QUERN_CUDA_ROWS: `${parts}` }, async () => {
    using backend = await createBackend();
    const [w, x, shift] = [await load(backend, matrix), uniform(rows * K, 1), uniform(N, 2)];
    const bytes = new Uint8Array(shift.buffer);
    const bias = await backend.loadWeight({ name: 'bias', shape: [N], format: 'f32', bytes });
    expectProduct(await product(backend, w, x, { bias }), x, matrix.values, shift);
    expect(await launches('row_sums', matrix, rows)).toBe(parts > 1);
  });
}

test.each(codecs)('$format', async (codec) => {
  const matrix = blockMatrix(codec);
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
  const matrix = bf16Matrix();
  await agrees(matrix, rows, 2);
  expect(await launches(`linear_rows_${height}_bf16`, matrix, rows)).toBe(true);
});

test('q, k and v share the fragments of x if their formats read the same', async () => {
  const none = new Float32Array(N);
  const matrices = ['q4_0', 'q4_k', 'q8_0'].map((format) =>
    blockMatrix(codecs.find((c) => c.format === format)!),
  );
  const x = uniform(12 * K, 1);
  using backend = await createBackend();
  const weights = await Promise.all(matrices.map((w) => load(backend, w)));
  using step = backend.step();
  const input = step.input(x, [12, K]);
  const outputs = weights.map((w) => backend.linear(input, w));
  for (const y of outputs) step.keep(y);
  await step.run();
  for (const [i, y] of outputs.entries()) expectProduct(await step.read(y), x, matrices[i]!.values, none);
});

test('other products have other kernels', async () => {
  const matrix = bf16Matrix();
  for (const rows of [8, 65]) expect(await launches('row_fragments', matrix, rows)).toBe(false);
  expect(await launches('row_fragments', matrix, 9, { precision: 'exact' })).toBe(false);
  await withSettings({ QUERN_CUDA_ROWS: '0' }, async () =>
    expect(await launches('row_fragments', matrix, 9)).toBe(false),
  );
});
