// Quantised folders: dequantised values bit for bit, and the model's logits.
import { readdirSync, readFileSync } from 'node:fs';
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend, GptqSource } from '@quern/core';
import { GptqRows } from '@quern/quant';
import { loadLanguageModel, openModelFile } from '../src/index.js';
import { decodePoolFor } from '../src/weights/decode-pieces.js';
import { decodeToF32 } from '../src/weights/decode-weight.js';
import { type GroupedTensor, gptqSource } from '../src/weights/gptq.js';
import { type TestedBackend, testedBackends } from './backends.js';
import {
  awqMatrix,
  f8Matrix,
  f64Matrix,
  type Grouped,
  gptqMatrix,
  type MakeMatrix,
  type Stored,
  withWideScales,
  writeFolder,
  writeFolders,
} from './quantised-folders.js';
import { distance, sequenceLogits } from './run-model.js';
import { describeShared, shared } from './shared-data.js';

const gptqConfig = ({ bits, group, ordered = false, symmetric = false, version = 1 }: Grouped) => ({
  quant_method: 'gptq',
  bits,
  group_size: group,
  desc_act: ordered,
  sym: symmetric,
  ...(version === 2 && { checkpoint_format: 'gptq_v2' }),
});

const gptq = (options: Grouped) => [gptqConfig(options), gptqMatrix(options)] as const;
const f8Config = { quant_method: 'fp8', weight_block_size: [32, 48] };
const inBlocks = (N: number, K: number) => [Math.ceil(N / 32), Math.ceil(K / 48)];

const folders: readonly (readonly [string, object | undefined, MakeMatrix])[] = [
  ['gptq of 4 bits', ...gptq({ bits: 4, group: 32, symmetric: true })],
  ['gptq of 4 bits, asymmetric', ...gptq({ bits: 4, group: 32 })],
  ['gptq of 4 bits, version 2', ...gptq({ bits: 4, group: 64, version: 2 })],
  ['gptq of 4 bits, small groups', ...gptq({ bits: 4, group: 16, symmetric: true })],
  ['gptq of 4 bits, one group', ...gptq({ bits: 4, group: -1 })],
  ['gptq of 4 bits, act-order', ...gptq({ bits: 4, group: 32, symmetric: true, ordered: true })],
  ['gptq of 4 bits, act-order, asymmetric', ...gptq({ bits: 4, group: 32, ordered: true })],
  [
    'gptq with scales in f32',
    gptqConfig({ bits: 4, group: 32 }),
    withWideScales(gptqMatrix({ bits: 4, group: 32 })),
  ],
  ['gptq of 8 bits', ...gptq({ bits: 8, group: 32, symmetric: true })],
  ['gptq of 8 bits, act-order', ...gptq({ bits: 8, group: 32, symmetric: true, ordered: true })],
  ['gptq of 8 bits, asymmetric', ...gptq({ bits: 8, group: 32 })],
  ['awq', { quant_method: 'awq', bits: 4, group_size: 32, version: 'gemm' }, awqMatrix(32)],
  ['f64', undefined, f64Matrix],
  ['f8_e4m3 alone', undefined, f8Matrix('f8_e4m3', undefined)],
  [
    'f8_e5m2 with one scale',
    { quant_method: 'fp8' },
    f8Matrix('f8_e5m2', { name: 'weight_scale', shape: () => [] }),
  ],
  [
    'f8_e4m3 with a scale for each row',
    { quant_method: 'compressed-tensors', format: 'float-quantized' },
    f8Matrix('f8_e4m3', { name: 'weight_scale', shape: (N) => [N, 1] }, [1, Number.POSITIVE_INFINITY]),
  ],
  [
    'f8_e4m3 with a scale for each block',
    f8Config,
    f8Matrix('f8_e4m3', { name: 'weight_scale_inv', shape: inBlocks }, [32, 48]),
  ],
];

const ids = [1, 9, 4, 31, 0, 17, 5];
const tested = await testedBackends();

async function logits(path: string, backend: Backend, notices: string[] = []): Promise<number[][]> {
  using model = await loadLanguageModel(await openModelFile(path), backend, {
    onNotice: (message) => notices.push(message),
  });
  return await sequenceLogits(model, ids);
}

const pool = decodePoolFor({ profile: { kind: 'cpu', threads: 2 } }, undefined);
afterAll(() => pool.dispose());

describe.each(folders)('%s', (name, config, make) => {
  const { quantised, plain, values } = writeFolders(name.replaceAll(/\W+/g, '-'), config, make);

  test('matrices decode to the expected floats, on this thread and on others', async () => {
    const { weights } = await openModelFile(quantised);
    for (const [matrix, expected] of values)
      for (const options of [{}, { pool }])
        expect(await decodeToF32(weights.tensors.get(matrix)!, options)).toEqual(expected);
  });

  test.each(tested.map((backend): [string, TestedBackend] => [backend.name, backend]))(
    '%s computes with quantised matrices',
    async (_, { open, slack, rounding }) => {
      using backend = await open();
      const [got, want] = [await logits(quantised, backend), await logits(plain, backend)];
      const largest = Math.max(...want.flat().map(Math.abs));
      expect(distance(got, want)).toBeLessThanOrEqual((slack - 1) * 1e-5 + rounding.q8 * largest);
    },
  );

  test('without quantGptq: decoded, with a notice', async () => {
    using reference = await createReference();
    const without: Backend = Object.create(reference, { quantGptq: { value: undefined } });
    const notices: string[] = [];
    expect(await logits(quantised, without, notices)).toEqual(await logits(plain, reference));
    expect(notices).toEqual([expect.stringMatching(/14 tensors are decoded to f32, which takes [\d.]+ MB/)]);
  });
});

test('mmap false: every part of a GPTQ matrix is read into memory', async () => {
  const { quantised } = writeFolders('unmapped', ...gptq({ bits: 4, group: 32, ordered: true }));
  using reference = await createReference();
  const mapped: (boolean | undefined)[] = [];
  const { quantGptq } = reference;
  const watched: Backend = Object.create(reference, {
    quantGptq: {
      value: {
        ...quantGptq,
        loadWeight(source: GptqSource) {
          for (const part of [source.qweight, source.qzeros, source.scales, source.groupIndex!])
            mapped.push(part instanceof Uint8Array ? undefined : part.mmap);
          return quantGptq!.loadWeight(source);
        },
      },
    },
  });
  using _model = await loadLanguageModel(await openModelFile(quantised), watched, { mmap: false });
  expect(mapped).toEqual(Array.from({ length: 4 * 14 }, () => false));
});

test.each<[string, Grouped]>([
  ['in order', { bits: 4, group: 32, symmetric: true }],
  ['in act-order', { bits: 4, group: 32, symmetric: true, ordered: true }],
])('backend-cpu keeps GPTQ in 4.5 bits, columns %s', async (name, options) => {
  const { quantised, plain } = writeFolders(`small ${name}`.replaceAll(' ', '-'), ...gptq(options));
  using backend = await tested.at(-1)!.open();
  const notices: string[] = [];
  const onNotice = (message: string) => notices.push(message);
  using packed = await loadLanguageModel(await openModelFile(quantised), backend, { onNotice });
  using floats = await loadLanguageModel(await openModelFile(plain), backend);
  expect(packed.weightBytes).toBeLessThan(floats.weightBytes / 4);
  expect(notices).toEqual([]);
});

test('AWQ → GPTQ layout: equal on threads and on this thread', async () => {
  const awq = { quant_method: 'awq', bits: 4, group_size: 32, version: 'gemm' };
  const { quantised, values } = writeFolders('awq-on-threads', awq, awqMatrix(32));
  const { weights } = await openModelFile(quantised);
  for (const name of values.keys()) {
    const tensor = weights.tensors.get(name) as GroupedTensor;
    expect(await gptqSource(tensor, { pool })).toEqual(await gptqSource(tensor));
  }
});

test('a matrix without kernel is kept as f32, with a notice', async () => {
  const { quantised } = writeFolders('wide', ...gptq({ bits: 8, group: 32 }));
  const notices: string[] = [];
  using backend = await tested.at(-1)!.open();
  await logits(quantised, backend, notices);
  expect(notices).toEqual([expect.stringMatching(/keeps 14 tensors of gptq8 as f32, which takes [\d.]+ MB/)]);
});

test('scales without exact f16 are refused', async () => {
  const options = { bits: 4, group: 32 } as const;
  const make = withWideScales(gptqMatrix(options), 1 / 3);
  const { quantised } = writeFolders('thirds', gptqConfig(options), make);
  using backend = await createReference();
  await expect(loadLanguageModel(await openModelFile(quantised), backend)).rejects.toEqual(
    expect.objectContaining({
      code: 'UNKNOWN_FORMAT',
      message: expect.stringMatching(/scales must be exact in f16/),
    }),
  );
});

describe('parts that do not match', () => {
  const make = gptqMatrix({ bits: 4, group: 32 });
  const { parts } = make(1, 16, 64);
  const config = gptqConfig({ bits: 4, group: 32 });
  const open = (json: object, changed: Readonly<Record<string, Stored | undefined>>) => {
    const entries = Object.entries({ ...parts, ...changed }).flatMap(([end, part]) =>
      part ? [[`x.${end}`, part] as const] : [],
    );
    const settings = { architectures: ['LlamaForCausalLM'], quantization_config: json };
    return openModelFile(writeFolder('broken', settings, Object.fromEntries(entries)));
  };
  const ones = (shape: readonly number[]): Stored => ({
    dtype: 'I32',
    shape,
    data: new Int32Array(shape.reduce((product, size) => product * size, 1)),
  });

  test.each<[string, object, Record<string, Stored | undefined>, string, RegExp]>([
    ['no zero points', config, { qzeros: undefined }, 'MISSING_WEIGHT', /x\.qzeros' \[2, 2\] is missing/],
    ['too few scales', { ...config, group_size: 16 }, {}, 'BAD_WEIGHT_SHAPE', /qzeros.*\[4, 2\].*\[2, 2\]/],
    ['zero points as floats', config, { qzeros: parts.scales }, 'UNKNOWN_FORMAT', /qzeros.*is f16.*i32/],
    ['a short order', config, { g_idx: ones([63]) }, 'BAD_WEIGHT_SHAPE', /g_idx.*\[64\].*\[63\]/],
    ['weights in three dimensions', config, { qweight: ones([2, 2, 2]) }, 'BAD_WEIGHT_SHAPE', /a matrix/],
    ['3 bits', { ...config, bits: 3 }, {}, 'UNSUPPORTED_CONFIG', /bits is 3/],
    ['group size 0', { ...config, group_size: 0 }, {}, 'BAD_CONFIG', /group_size is 0/],
    ['Marlin', { ...config, checkpoint_format: 'marlin' }, {}, 'UNSUPPORTED_CONFIG', /marlin/],
    ['an unknown method', { quant_method: 'bitsandbytes' }, {}, 'UNSUPPORTED_CONFIG', /bitsandbytes/],
    ['no method', {}, {}, 'UNSUPPORTED_CONFIG', /quant_method/],
    ['AWQ for GEMV', { quant_method: 'awq', version: 'gemv' }, {}, 'UNSUPPORTED_CONFIG', /gemv/],
    [
      'a block size with one number',
      { quant_method: 'fp8', weight_block_size: [128] },
      {},
      'BAD_CONFIG',
      /two whole/,
    ],
    [
      'a block size of 0',
      { quant_method: 'fp8', weight_block_size: [0, 1] },
      {},
      'BAD_CONFIG',
      /whole numbers/,
    ],
  ])('%s', async (_, json, changed, code, message) => {
    await expect(open(json, changed)).rejects.toEqual(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  test('a column with a missing group', () => {
    const bytes = ({ data: { buffer, byteOffset, byteLength } }: Stored) =>
      new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
    const groupIndex = new Uint8Array(Int32Array.from({ length: 64 }, (_, k) => (k === 5 ? 2 : 0)).buffer);
    const { qweight, qzeros, scales } = parts as Record<'qweight' | 'qzeros' | 'scales', Stored>;
    const source = { name: 'x', shape: [16, 64], bits: 4, groupSize: 32, version: 1 } as const;
    const rows = () =>
      new GptqRows({
        ...source,
        groupIndex,
        qweight: bytes(qweight),
        qzeros: bytes(qzeros),
        scales: bytes(scales),
      });
    expect(rows).toThrow(
      expect.objectContaining({ code: 'BAD_WEIGHT', message: expect.stringMatching(/group 2 of 2/) }),
    );
  });
});

// Slices of real checkpoints, with GPTQModel's floats. CONTAINER-FORMATS.txt describes the layout.
describeShared('dequant-reference/gptq', 'GPTQ matrices of real checkpoints', () => {
  test.each(readdirSync(shared('dequant-reference/gptq')))('%s', (name) => {
    const file = new Uint8Array(readFileSync(shared('dequant-reference/gptq', name)));
    const header = Array.from(new Uint32Array(file.slice(4, 56).buffer));
    const [, bits, groupSize, K, N, scaleType, ordered, ...lengths] = header as [number, 4 | 8, ...number[]];
    expect(scaleType).toBe(2); // f16
    const ends = lengths.map((_, i) => lengths.slice(0, i + 1).reduce((sum, length) => sum + length, 56));
    const [qweight, scales, qzeros, g_idx, , golden] = ends.map((end, i) =>
      file.slice(end - lengths[i]!, end),
    );
    const rows = new GptqRows({
      name,
      shape: [N!, K!],
      bits,
      groupSize: groupSize!,
      version: 1,
      qweight: qweight!,
      scales: scales!,
      qzeros: qzeros!,
      groupIndex: ordered ? g_idx! : undefined,
    });
    const values = new Float32Array(N! * K!);
    rows.decode(0, N!, values);
    const expected = new Float32Array(golden!.buffer); // [K, N]
    const transposed = values.map((_, i) => expected[(i % K!) * N! + Math.floor(i / K!)]!);
    expect(Buffer.compare(Buffer.from(values.buffer), Buffer.from(transposed.buffer))).toBe(0);
  });
});
