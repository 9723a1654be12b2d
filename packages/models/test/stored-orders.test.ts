// Tensors that Hugging Face's files hold transposed, or with rows in another order than GGUF files.

import { writeFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import { bf16ToF32, f16ToF32 } from '@quern/core';
import { DecodePool } from '@quern/quant';
import { gptNeoX } from '../src/gpt-neox.js';
import { type DecoderConfig, loadLanguageModel, openModelFile } from '../src/index.js';
import { matrixPlaces } from '../src/lora/matrix-places.js';
import { decodeToF32 } from '../src/weights/decode-weight.js';
import type { FileTensor } from '../src/weights/file-tensor.js';
import { gatherRows, rangesWithin, takeRows } from '../src/weights/map-tensors.js';
import { resolveWeights } from '../src/weights/resolve-weights.js';
import { partsOf, storedBytes } from '../src/weights/weight-file.js';
import type { WeightTable } from '../src/weights/weight-table.js';
import { scratch } from './model-files.js';
import { type Parameters, randomParameters, type Shapes, withLayers, writeFolder } from './random-folder.js';
import { cacheFor, distance, sequenceLogits } from './run-model.js';

/** A matrix [K, N] in a file, whose elements are their 16-bit patterns or, as f32, their indices. */
function stored(format: 'f32' | 'f16' | 'bf16', [K, N]: readonly [number, number]): FileTensor {
  const path = scratch(`transposed-${format}-${N}.bin`);
  const indices = Array.from({ length: K * N }, (_, i) => i);
  const values =
    format === 'f32' ? Float32Array.from(indices) : Uint16Array.from(indices, (i) => 0x3c00 + (i % 999));
  writeFileSync(path, values);
  return { name: 'm', shape: [K, N], format, bytes: { path, offset: 0, byteLength: values.byteLength } };
}

/** A message of Jest for long lists takes seconds. */
const isSame = (a: Float32Array, b: Float32Array): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

const valueAt = {
  f32: (i: number) => i,
  f16: (i: number) => f16ToF32(0x3c00 + (i % 999)),
  bf16: (i: number) => bf16ToF32(0x3c00 + (i % 999)),
};

/** A table with one matrix [N, K] that is rows 1 … of a stored transpose. */
const tableOf = (N: number, K: number, of = N) =>
  ({
    model: {},
    layer: {
      m: {
        gguf: 'm',
        huggingFace: 'm',
        shape: () => [N, K],
        rows: () => ({ from: of - N, of }),
        huggingFaceTransposed: true,
      },
    },
  }) as const satisfies WeightTable<{ layers: number }>;

const resolve = (tensor: FileTensor, ...sizes: [N: number, K: number, of?: number]) =>
  resolveWeights(
    tableOf(...sizes),
    { layers: 1 },
    {
      ...{ naming: 'huggingFace', paths: [tensor.bytes.path] },
      tensors: new Map([['m', tensor]]),
    },
  )[0]!.tensor as FileTensor;

describe('a transposed matrix', () => {
  test.each(['f32', 'f16', 'bf16'] as const)(
    '%s: the last rows, on this thread and on others',
    async (format) => {
      const [N, K, of] = [400, 700, 800]; // several pieces
      const tensor = resolve(stored(format, [K, of]), N, K, of);
      expect(tensor.shape).toEqual([N, K]);
      expect(storedBytes(tensor)).toBe(N * K * (format === 'f32' ? 4 : 2));
      const wanted = Float32Array.from({ length: N * K }, (_, i) =>
        valueAt[format]((i % K) * of + of - N + Math.floor(i / K)),
      );
      expect(isSame(await decodeToF32(tensor), wanted)).toBe(true);
      const pool = new DecodePool({
        threads: 2,
        signal: undefined,
        aborted: () => new Error(),
        lost: () => new Error(),
      });
      try {
        expect(isSame(await decodeToF32(tensor, { pool }), wanted)).toBe(true);
      } finally {
        await pool.dispose();
      }
      expect(await decodeToF32(takeRows(tensor, 5, 2))).toEqual(wanted.subarray(5 * K, 7 * K));
    },
  );

  test('another shape and another format are refused by name', () => {
    const tensor = stored('f32', [3, 4]);
    expect(() => resolve(tensor, 3, 4)).toThrow(
      expect.objectContaining({
        code: 'BAD_WEIGHT_SHAPE',
        message: expect.stringMatching(/'m' must have shape \[4,3\].*it has \[3,4\]/),
      }),
    );
    expect(() =>
      resolve(
        { ...tensor, format: 'f8_e4m3', quantised: { kind: 'f8', blockRows: 1, blockColumns: 4 } },
        4,
        3,
      ),
    ).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_FORMAT',
        message: expect.stringMatching(/'m' is f8_e4m3.*transposed.*f32, f16, bf16/),
      }),
    );
  });
});

describe('rows in another order', () => {
  const tensor = stored('f32', [6, 2]);

  test('are gathered; neighbours are one part', async () => {
    const gathered = gatherRows(tensor, [
      [4, 2],
      [0, 1],
      [1, 2],
    ]);
    expect(partsOf(gathered).map(({ shape }) => shape)).toEqual([
      [2, 2],
      [3, 2],
    ]);
    expect(Array.from(await decodeToF32(gathered))).toEqual([8, 9, 10, 11, 0, 1, 2, 3, 4, 5]);
    expect(
      'parts' in
        gatherRows(tensor, [
          [1, 2],
          [3, 1],
        ]),
    ).toBe(false);
  });

  test('a parameter has a part of them', () => {
    expect(
      rangesWithin(
        [
          [4, 2],
          [0, 3],
        ],
        1,
        3,
      ),
    ).toEqual([
      [5, 1],
      [0, 2],
    ]);
  });

  test('an adapter’s rows are in the order of its file', () => {
    const config = { layers: 1, heads: 2, kvHeads: 2, headDim: 2, width: 4 } as DecoderConfig;
    const rows = (naming: 'gguf' | 'huggingFace', matrix: string) =>
      matrixPlaces(gptNeoX, config, naming)
        .find('adapter', matrix)
        .map(({ field, from, rowOf = (row) => from + row }) => [field, [0, 1, 2, 3].map(rowOf)]);
    expect(rows('gguf', 'blk.0.attn_qkv.weight')).toEqual([
      ['q', [0, 1, 2, 3]],
      ['k', [4, 5, 6, 7]],
      ['v', [8, 9, 10, 11]],
    ]);
    expect(rows('huggingFace', 'gpt_neox.layers.0.attention.query_key_value.weight')).toEqual([
      ['q', [0, 1, 6, 7]],
      ['k', [2, 3, 8, 9]],
      ['v', [4, 5, 10, 11]],
    ]);
  });
});

const ids = [3, 7, 1, 9];

describe('GPT-2', () => {
  const config = {
    architectures: ['GPT2LMHeadModel'],
    n_embd: 8,
    n_layer: 1,
    n_head: 2,
    n_positions: 16,
    vocab_size: 12,
  };
  const vectors = (name: string, size: number): Shapes => ({
    [`${name}.weight`]: [size],
    [`${name}.bias`]: [size],
  });
  const matrix = (name: string, K: number, N: number): Shapes => ({
    [`${name}.weight`]: [K, N],
    [`${name}.bias`]: [N],
  });
  const shapes = withLayers(
    { 'wte.weight': [12, 8], 'wpe.weight': [16, 8], ...vectors('ln_f', 8) },
    {
      ...{ ...vectors('h.{i}.ln_1', 8), ...vectors('h.{i}.ln_2', 8) },
      ...{ ...matrix('h.{i}.attn.c_attn', 8, 24), ...matrix('h.{i}.attn.c_proj', 8, 8) },
      ...{ ...matrix('h.{i}.mlp.c_fc', 8, 32), ...matrix('h.{i}.mlp.c_proj', 32, 8) },
      'h.{i}.attn.bias': [1, 1, 16, 16],
    },
    1,
  );
  const own = randomParameters(shapes);
  const prefixed: Parameters = new Map(Array.from(own, ([name, tensor]) => [`transformer.${name}`, tensor]));

  test('with and without the prefix of transformers’ class; masks are no tensors of the model', async () => {
    using backend = await createBackend();
    const logits = [];
    for (const [name, parameters] of [
      ['own', own],
      ['prefixed', prefixed],
    ] as const) {
      const notices: string[] = [];
      const file = await openModelFile(writeFolder(`gpt2-${name}`, config, parameters));
      using model = await loadLanguageModel(file, backend, { onNotice: (text) => notices.push(text) });
      logits.push(await sequenceLogits(model, ids));
      expect(notices).toEqual([
        expect.stringMatching(/does not read transposed f32 natively: 6 tensors are decoded to f32/),
      ]);
    }
    expect(logits[0]).toEqual(logits[1]);
  });

  test('a cache longer than the table of positions is refused', async () => {
    using backend = await createBackend();
    using model = await loadLanguageModel(
      await openModelFile(writeFolder('gpt2-long', config, own)),
      backend,
    );
    await expect(sequenceLogits(model, ids, 4, cacheFor(model, 17))).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
      message: expect.stringContaining(
        "the cache has a context of 17, but the model's table of positions has 16 rows",
      ),
    });
    expect(await sequenceLogits(model, ids, 4, cacheFor(model, 16))).toHaveLength(4);
  });

  test('gelu by erf is another function than its tanh form, nearly the same', async () => {
    using backend = await createBackend();
    const logits = [];
    for (const form of ['gelu', 'gelu_new']) {
      const path = writeFolder(`gpt2-${form}`, { ...config, activation_function: form }, own);
      using model = await loadLanguageModel(await openModelFile(path), backend);
      logits.push(await sequenceLogits(model, ids));
    }
    const apart = distance(logits[0]!, logits[1]!);
    expect(apart).toBeGreaterThan(1e-5);
    expect(apart).toBeLessThan(1e-2);
  });
});
