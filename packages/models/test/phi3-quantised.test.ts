// Phi-3 folders in GPTQ, AWQ and FP8: rows of fused matrices, held to the unquantised equations.
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { cases } from '../../../test-scope.js';
import { describeModel, loadLanguageModel, openModelFile } from '../src/index.js';
import { decodePoolFor } from '../src/weights/decode-pieces.js';
import { decodeToF32 } from '../src/weights/decode-weight.js';
import { takeRows } from '../src/weights/map-tensors.js';
import { testedBackends } from './backends.js';
import { plainPhi } from './plain/phi.js';
import {
  awqMatrix,
  f8Matrix,
  floats,
  gptqMatrix,
  type MakeMatrix,
  type Stored,
  writeFolder,
} from './quantised-folders.js';
import { convertFolder } from './random-folder.js';
import { distance, sequenceLogits } from './run-model.js';
import { phi3MiniConfig, phi3MiniParameters, phi3MiniSizes } from './tiny-phi.js';

/** The rows of q end at 64, of gate at 64: within a block of 48 rows. */
const inBlocks = (N: number, K: number) => [Math.ceil(N / 48), Math.ceil(K / 32)];
const gptqConfig = { quant_method: 'gptq', bits: 4, group_size: 32, desc_act: false };

const kinds: readonly (readonly [string, object | undefined, MakeMatrix])[] = [
  ['gptq', gptqConfig, gptqMatrix({ bits: 4, group: 32 })],
  [
    'gptq with act-order',
    { ...gptqConfig, desc_act: true },
    gptqMatrix({ bits: 4, group: 32, symmetric: true, ordered: true }),
  ],
  ['gptq of 8 bits', { ...gptqConfig, bits: 8 }, gptqMatrix({ bits: 8, group: 32, symmetric: true })],
  ['awq', { quant_method: 'awq', bits: 4, group_size: 32, version: 'gemm' }, awqMatrix(32)],
  [
    'fp8 with one scale',
    { quant_method: 'fp8' },
    f8Matrix('f8_e4m3', { name: 'weight_scale', shape: () => [] }),
  ],
  [
    'fp8 with a scale for each row',
    { quant_method: 'compressed-tensors', format: 'float-quantized' },
    f8Matrix('f8_e4m3', { name: 'weight_scale', shape: (N) => [N, 1] }, [1, Number.POSITIVE_INFINITY]),
  ],
  [
    'fp8 with a scale for each block',
    { quant_method: 'fp8', weight_block_size: [48, 32] },
    f8Matrix('f8_e4m3', { name: 'weight_scale_inv', shape: inBlocks }, [48, 32]),
  ],
];

const config = { ...phi3MiniConfig, intermediate_size: 64 };
const matrices: Readonly<Record<string, readonly [number, number]>> = {
  'self_attn.qkv_proj': [64 + 2 * 32, 64],
  'self_attn.o_proj': [64, 64],
  'mlp.gate_up_proj': [2 * 64, 64],
  'mlp.down_proj': [64, 64],
};

/** A folder whose matrices of layers are stored by `make`, and the values of all parameters. */
function writePhi(name: string, quantization_config: object | undefined, make: MakeMatrix) {
  const parameters = new Map(phi3MiniParameters);
  const stored: Record<string, Stored> = {};
  let matrixBytes = 0;
  for (const i of [0, 1, 2])
    for (const [m, [stem, [N, K]]] of Object.entries(matrices).entries()) {
      const matrix = make(100 * i + 10 * m + 1, N, K);
      const path = `model.layers.${i}.${stem}`;
      for (const [end, part] of Object.entries(matrix.parts)) {
        stored[`${path}.${end}`] = part;
        matrixBytes += part.data.byteLength;
      }
      parameters.set(`${path}.weight`, { shape: [N, K], values: matrix.values });
    }
  for (const [path, { shape, values }] of parameters)
    if (!/_proj\.weight$/.test(path)) stored[path] = floats(shape, values);
  return { folder: writeFolder(name, { ...config, quantization_config }, stored), parameters, matrixBytes };
}

const ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];
const tested = await testedBackends();
const pool = decodePoolFor({ profile: { kind: 'cpu', threads: 2 } }, undefined);
afterAll(() => pool.dispose());

async function logits(path: string, backend: Backend): Promise<number[][]> {
  using model = await loadLanguageModel(await openModelFile(path), backend);
  expect(model.architecture).toBe('phi3');
  return await sequenceLogits(model, ids);
}

describe.each(kinds)('%s', (name, quantization, make) => {
  const { folder, parameters, matrixBytes } = writePhi(
    `phi-${name.replaceAll(/\W+/g, '-')}`,
    quantization,
    make,
  );
  const expected = plainPhi(parameters, ids, phi3MiniSizes);
  const largest = Math.max(...expected.flat().map(Math.abs));

  test.each(cases(tested, [tested[0]!, tested.at(-1)!]))(
    'logits of the equations, on $name',
    async ({ open, slack, rounding }) => {
      using backend = await open();
      const far = distance(await logits(folder, backend), expected);
      expect(far).toBeLessThan((slack * 1e-5 + rounding.q8) * largest);
    },
  );

  test('without the capability, and as GGUF', async () => {
    using reference = await createReference();
    const without: Backend = Object.create(reference, { quantGptq: { value: undefined } });
    for (const path of [folder, await convertFolder(folder)])
      expect(distance(await logits(path, without), expected)).toBeLessThan(1e-5 * largest);
  });

  test('rows decode to the floats that they mean, here and on threads', async () => {
    const { weights } = await openModelFile(folder);
    const path = 'model.layers.1.self_attn.qkv_proj.weight';
    const { values } = parameters.get(path)!;
    for (const options of [{}, { pool }])
      for (const [first, count] of [
        [64, 32],
        [96, 32],
      ] as const) {
        const rows = takeRows(takeRows(weights.tensors.get(path)!, 8, 120), first - 8, count);
        expect(await decodeToF32(rows, options)).toEqual(values.slice(64 * first, 64 * (first + count)));
      }
  });

  test('the rows of a matrix are its bytes', async () => {
    const { layers } = describeModel(await openModelFile(folder)).costs;
    const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0);
    const norms = 3 * 2 * 64 * 4;
    expect((bytes - norms) / matrixBytes).toBeGreaterThan(0.99);
    expect((bytes - norms) / matrixBytes).toBeLessThan(1.1); // q, k and v each count the scales of FP8
  });
});

test('rows that end within a word of zero points are refused', async () => {
  const { folder } = writePhi('phi-uneven', gptqConfig, gptqMatrix({ bits: 4, group: 32 }));
  const { weights } = await openModelFile(folder);
  const matrix = weights.tensors.get('model.layers.0.mlp.gate_up_proj.weight')!;
  expect(() => takeRows(matrix, 4, 8)).toThrow(
    expect.objectContaining({
      code: 'UNKNOWN_FORMAT',
      message:
        "tensor 'model.layers.0.mlp.gate_up_proj.weight' is gptq4 and holds 8 rows from row 4 on, which are no multiples of 8: " +
        'its rows cannot be taken apart; use another format of the model',
    }),
  );
});
