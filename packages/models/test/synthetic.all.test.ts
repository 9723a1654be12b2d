// Models of true shape with random weights: their blocks must cost as much as real ones, and be as hard to round.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-cpu';
import { contiguousKvCache, elementCount, inputBatch } from '@quern/core';
import { decode, openGguf, type TensorInput, type WritableFormat, writeGguf } from '@quern/quant';
import { loadLanguageModel, makeSyntheticEncoder, modelShapes, openModelFile } from '../src/index.js';
import { syntheticModel } from '../src/synthetic/make-synthetic.js';
import { WeightPools } from '../src/synthetic/weight-pool.js';
import { kvOptions } from './run-model.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-synthetic-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sorted = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b);
const quantile = (values: Iterable<number>, share: number): number => {
  const inOrder = sorted(values);
  return inOrder[Math.floor(share * inOrder.length)]!;
};
/** Mean of a power of the values. */
const moment = (values: Float32Array, power: number): number =>
  values.reduce((sum, value) => sum + value ** power, 0) / values.length;
const rms = (values: Float32Array): number => Math.sqrt(moment(values, 2));
const rowsOf = (values: Float32Array, width: number): Float32Array[] =>
  Array.from({ length: values.length / width }, (_, i) => values.subarray(i * width, (i + 1) * width));

const pools = new WeightPools(1, undefined);

/** A matrix with rows of 1024, decoded. */
async function drawn(format: WritableFormat, seed = 1, rows = 512): Promise<Float32Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of pools.matrix({ format }, [rows, 1024], seed)) pieces.push(piece);
  const values = new Float32Array(rows * 1024);
  decode(format, Buffer.concat(pieces), 0, values, 0, values.length);
  return values;
}

test.each(['f32', 'f16', 'q8_0', 'q4_0', 'q6_k', 'q4_k', 'q2_k'] as const)(
  '%s: heavy tails, and a scale per row',
  async (format) => {
    const values = await drawn(format);
    expect(rms(values) * Math.sqrt(1024)).toBeCloseTo(1, 0.7);
    expect(moment(values, 4) / moment(values, 2) ** 2).toBeGreaterThan(5); // a normal distribution: 3
    const sizes = rowsOf(values, 1024).map(rms);
    expect(quantile(sizes, 0.95) / quantile(sizes, 0.05)).toBeGreaterThan(1.6); // without scales: 1.15
  },
);

test('small matrices, which use no pool, have the same distribution', async () => {
  const values = await drawn('f32', 1, 64);
  expect(rms(values) * Math.sqrt(1024)).toBeCloseTo(1, 0.7);
  expect(moment(values, 4) / moment(values, 2) ** 2).toBeGreaterThan(5);
  const sizes = rowsOf(values, 1024).map(rms);
  expect(quantile(sizes, 0.95) / quantile(sizes, 0.05)).toBeGreaterThan(1.6);
});

test('the rows of a matrix differ, and matrices of different seeds', async () => {
  const firsts = (values: Float32Array) => rowsOf(values, 1024).map((row) => row.subarray(0, 8).join());
  const values = firsts(await drawn('q4_k'));
  expect(new Set(rowsOf(await drawn('q4_k'), 1024).map((row) => rms(row))).size).toBe(512);
  expect(firsts(await drawn('q4_k'))).toEqual(values);
  expect(firsts(await drawn('q4_k', 2))).not.toEqual(values);
});

test('equal seeds give equal files, other seeds other files', async () => {
  const made = async (name: string, seed: number) => {
    const path = join(folder, `${name}.gguf`);
    await makeSyntheticEncoder(path, { shape: 'tiny', format: 'q8_0', seed });
    return readFileSync(path);
  };
  const first = await made('first', 7);
  expect(first.equals(await made('second', 7))).toBe(true);
  expect(first.equals(await made('third', 8))).toBe(false);
});

async function bytesIn(path: string, name: string): Promise<Buffer> {
  const { offset, byteLength } = (await openGguf(path)).tensors.find((tensor) => tensor.name === name)!;
  return readFileSync(path).subarray(offset, offset + byteLength);
}

/** Scales of q8_0 blocks as bits, per row: [rows][blocks]. */
const scalesOf = (blocks: Buffer, perRow: number): number[][] =>
  Array.from({ length: blocks.length / 34 / perRow }, (_, row) =>
    Array.from({ length: perRow }, (_, i) => blocks.readUInt16LE(34 * (row * perRow + i))),
  );
const countOf = (scales: readonly number[]) => new Set(scales).size;

test('blocks of int8 share a scale per 256 columns, those of q8_0 do not', async () => {
  const pieces: Uint8Array[] = [];
  const encoding = { format: 'q8_0', sharesScales: true } as const;
  for await (const piece of pools.matrix(encoding, [512, 384], 1)) pieces.push(piece);
  const scales = scalesOf(Buffer.concat(pieces), 12);
  for (const row of scales) expect([countOf(row.slice(0, 8)), countOf(row.slice(8))]).toEqual([1, 1]);
  expect(countOf(scales.map(([first]) => first!))).toBeGreaterThan(100);
  for (const [format, different] of [
    ['q8_0', 2],
    ['int8', 1],
  ] as const) {
    const path = join(folder, `${format}.gguf`);
    await makeSyntheticEncoder(path, { shape: 'tiny', format });
    const down = await bytesIn(path, 'blk.0.ffn_down.weight'); // rows of 64
    expect(countOf(scalesOf(down, 2)[0]!)).toBe(different);
  }
});

const floatsOf = ({ data }: TensorInput): Float32Array => {
  if (!(data instanceof Uint8Array)) throw new Error('the tensor is a matrix');
  return new Float32Array(data.buffer);
};

/** Number of values six times as large as the median. */
const outliersIn = (values: Float32Array): number => {
  const usual = quantile(values.map(Math.abs), 0.5);
  return values.filter((value) => Math.abs(value) > 6 * usual).length;
};

test('norms before matrices have outlier channels, the same in all layers; the last norm has none', () => {
  const { tensors } = syntheticModel('qwen3', modelShapes['qwen3-0.6b'], { format: 'q4_0' });
  const norms = tensors.filter(({ name }) => /\.(attn|ffn)_norm\.weight$/.test(name)).map(floatsOf);
  expect(norms).toHaveLength(2 * 28);
  const largest = (values: Float32Array) =>
    sorted(
      sorted(values)
        .slice(-2)
        .map((v) => values.indexOf(v)),
    );
  for (const norm of norms) {
    expect(outliersIn(norm)).toBe(2);
    expect(largest(norm)).toEqual(largest(norms[0]!));
    expect(rms(norm)).toBeCloseTo(1);
  }
  const last = floatsOf(tensors.find(({ name }) => name === 'output_norm.weight')!);
  expect(outliersIn(last)).toBe(0);
});

test('encoders: the biases of norms have outlier channels, except the last', async () => {
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'q4_0' });
  const largest = async (name: string) => {
    const bytes = await bytesIn(path, name);
    return Math.max(...Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i)));
  };
  expect(await largest('blk.0.layer_output_norm.bias')).toBeGreaterThan(1);
  expect(await largest('blk.1.attn_output_norm.bias')).toBeGreaterThan(1);
  expect(await largest('blk.1.layer_output_norm.bias')).toBe(0);
});

const sizes = {
  layers: 14,
  width: 512,
  heads: 4,
  kvHeads: 2,
  headDim: 64,
  feedForward: 768,
  vocabulary: 2048,
};
const tokens = 8;

/** The residual stream after each layer, the norms' weights before attention, and the logits of 8 tokens. */
async function run(name: 'qwen3-0.6b' | 'gemma3-1b') {
  const path = join(folder, `${name}.gguf`);
  const made = syntheticModel(name, { ...modelShapes[name], ...sizes }, { format: 'q8_0' });
  await writeGguf(path, made);
  using backend = await createBackend({ threads: 2 });
  const file = await openModelFile(path);
  const { layers } = file.config;
  const places = Array.from({ length: layers }, (_, i) => ({ backend, from: i, to: i + 1 }));
  using model = await loadLanguageModel(file, places);
  using cache = contiguousKvCache(backend, { ...kvOptions(model.config, tokens), sequences: 1 });
  using step = backend.step();
  const sequence = cache.sequence();
  sequence.append(tokens);
  const batch = inputBatch(step, cache.describe([{ sequence, rows: tokens }]));
  const streams = [step.input(Int32Array.from({ length: tokens }, (_, i) => (i * 7919) % 256))];
  for (const part of model.parts) streams.push(part.forward(streams.at(-1)!, batch, cache));
  const kept = [...streams.slice(1), model.logits(streams.at(-1)!)];
  for (const tensor of kept) step.keep(tensor);
  const values: Float32Array[] = [];
  for (const tensor of kept) values.push(Float32Array.from(await step.read(tensor)));
  const norms = made.tensors.filter((tensor) => tensor.name.endsWith('.attn_norm.weight')).map(floatsOf);
  return { streams: values.slice(0, -1), norms, logits: values.at(-1)! };
}

test.each(['qwen3-0.6b', 'gemma3-1b'] as const)(
  '%s: outlier channels in activations, a stable stream, varied logits',
  async (name) => {
    const { streams, norms, logits } = await run(name);
    const deviations = streams.map(rms);
    expect(Math.min(...deviations)).toBeGreaterThan(0.2);
    expect(Math.max(...deviations)).toBeLessThan(20);
    const ratios = streams.slice(0, -1).flatMap((stream, i) =>
      rowsOf(stream, sizes.width).map((row) => {
        const input = row.map((value, channel) => Math.abs(value * norms[i + 1]![channel]!));
        return Math.max(...input) / quantile(input, 0.5);
      }),
    );
    expect(quantile(ratios, 0.5)).toBeGreaterThan(8); // without outliers: 5
    expect(quantile(ratios, 0.9)).toBeGreaterThan(20);
    expect(quantile(ratios, 0.9)).toBeLessThan(100);
    const perToken = rowsOf(logits, sizes.vocabulary);
    expect(new Set(perToken.map((row) => row.indexOf(Math.max(...row)))).size).toBeGreaterThan(2);
    for (const row of perToken) expect(rms(row)).toBeGreaterThan(0.3);
    for (const row of perToken) expect(rms(row)).toBeLessThan(3);
  },
);

test.each([
  ['qwen3-moe-12x64', 1439.9],
  ['llama-3.2-1b', 1235.8],
  ['gemma3-1b', 999.9],
  ['phi-4-mini', 3836],
] as const)('%s has %d million parameters, as published', (name, millions) => {
  const { tensors } = syntheticModel(name, modelShapes[name], { format: 'q4_0' });
  const elements = tensors
    .filter((tensor) => !tensor.name.startsWith('rope_factors'))
    .reduce((sum, tensor) => sum + elementCount(tensor.shape), 0);
  expect(elements / 1e6).toBeCloseTo(millions, 0);
  expect(new Set(tensors.map((tensor) => tensor.name)).size).toBe(tensors.length);
});
