// Folders of E4M3 on backends that read f8: the bytes of the file, and the numbers of floats.
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, elementCount, type WeightSource } from '@quern/core';
import { decodeF8Blocks, f8Blocks } from '@quern/quant';
import { loadLanguageModel, openModelFile } from '../src/index.js';
import { testedBackends } from './backends.js';
import { f8Matrix, type MakeMatrix, writeFolders } from './quantised-folders.js';
import { distance, sequenceLogits } from './run-model.js';

const inBlocks = (N: number, K: number) => [Math.ceil(N / 128), Math.ceil(K / 128)];

const folders: readonly (readonly [string, object, MakeMatrix])[] = [
  ['one scale', { quant_method: 'fp8' }, f8Matrix('f8_e4m3', { name: 'weight_scale', shape: () => [] })],
  [
    'a scale for each row',
    { quant_method: 'compressed-tensors', format: 'float-quantized' },
    f8Matrix('f8_e4m3', { name: 'weight_scale', shape: (N) => [N, 1] }, [1, Number.POSITIVE_INFINITY]),
  ],
  [
    'a scale for each block',
    { quant_method: 'fp8', weight_block_size: [128, 128] },
    f8Matrix('f8_e4m3', { name: 'weight_scale_inv', shape: inBlocks }, [128, 128]),
  ],
];

/** The reference, given f8 as if it read it; `formats`: of the loaded matrices. */
function readingF8(reference: Backend, formats: string[]): Backend {
  const loadWeight = (source: WeightSource) => {
    if (source.shape.length > 1) formats.push(source.format);
    if (source.format !== f8Blocks.name) return reference.loadWeight(source);
    const values = decodeF8Blocks(source.bytes as Uint8Array, elementCount(source.shape));
    return reference.loadWeight({ ...source, format: 'f32', bytes: new Uint8Array(values.buffer) });
  };
  return Object.create(reference, {
    quantGguf: { value: { formats: new Set([f8Blocks.name]) } },
    loadWeight: { value: loadWeight },
  });
}

const ids = [1, 9, 4, 31, 0, 17, 5];

async function run(path: string, backend: Backend) {
  const notices: string[] = [];
  const onNotice = (message: string) => notices.push(message);
  using model = await loadLanguageModel(await openModelFile(path), backend, { onNotice });
  return { logits: await sequenceLogits(model, ids), bytes: model.weightBytes, notices };
}

const count = (formats: readonly string[], format: string) =>
  formats.filter((name) => name === format).length;
const gpus = (await testedBackends()).filter(({ name }) => name.includes('GPU'));

describe.each(folders)('%s', (name, config, make) => {
  const { quantised, plain } = writeFolders(`f8 ${name}`.replaceAll(' ', '-'), config, make, 2);

  test('all matrices are loaded as f8, with the same logits', async () => {
    using reference = await createReference();
    const formats: string[] = [];
    const got = await run(quantised, readingF8(reference, formats));
    expect([count(formats, 'f8'), formats.length]).toEqual([14, 16]); // the others: embedding, head
    expect(got.logits).toEqual((await run(plain, reference)).logits);
    expect(got.notices).toEqual([expect.stringMatching(/14 tensors are decoded to f8, which takes/)]);
  });

  for (const { name: gpu, open, slack } of gpus)
    test(`${gpu} computes with f8`, async () => {
      using backend = await open();
      const [got, want] = [await run(quantised, backend), await run(plain, backend)];
      const largest = Math.max(...want.logits.flat().map(Math.abs));
      expect(distance(got.logits, want.logits)).toBeLessThanOrEqual(slack * 1e-5 * largest);
      expect(got.bytes).toBeLessThan(want.bytes / 3);
    });
});

test.each<[string, MakeMatrix]>([
  ['a NaN', spoilt((matrix) => (bytesOf(matrix)[9] = 0x7f))],
  ['an infinite scale', spoilt((matrix) => (floatsOf(matrix)[0] = Number.POSITIVE_INFINITY))],
])('a matrix with %s is decoded to f32, as without f8', async (name, make) => {
  const config = { quant_method: 'fp8' };
  const { quantised } = writeFolders(`f8 with ${name}`.replaceAll(' ', '-'), config, make, 2);
  using reference = await createReference();
  const formats: string[] = [];
  const { logits } = await run(quantised, readingF8(reference, formats));
  expect([count(formats, 'f8'), count(formats, 'f32')]).toEqual([0, 16]);
  expect(logits).toEqual((await run(quantised, reference)).logits);
});

test('columns that are no multiple of 128 are decoded to f32', async () => {
  const { quantised } = writeFolders('f8-narrow', ...(folders[0]!.slice(1) as [object, MakeMatrix]));
  using reference = await createReference();
  const formats: string[] = [];
  await run(quantised, readingF8(reference, formats));
  expect([count(formats, 'f8'), count(formats, 'f32')]).toEqual([2, 14]); // f8: down_proj, 128 columns
});

test('a missing scale is refused', async () => {
  const { quantised } = writeFolders('f8-no-scale', { quant_method: 'fp8' }, f8Matrix('f8_e4m3', undefined));
  await expect(openModelFile(quantised)).rejects.toMatchObject({
    code: 'MISSING_WEIGHT',
    message: expect.stringMatching(/q_proj\.weight_scale/),
  });
});

type Matrix = ReturnType<MakeMatrix>;

function bytesOf({ parts }: Matrix): Uint8Array {
  return parts.weight!.data as Uint8Array;
}

function floatsOf({ parts }: Matrix): Float32Array {
  return parts.weight_scale!.data as Float32Array;
}

/** Matrices with one scale, each changed by `spoil`. */
function spoilt(spoil: (matrix: Matrix) => void): MakeMatrix {
  const make = f8Matrix('f8_e4m3', { name: 'weight_scale', shape: () => [1] });
  return (...sizes) => {
    const matrix = make(...sizes);
    spoil(matrix);
    return matrix;
  };
}
