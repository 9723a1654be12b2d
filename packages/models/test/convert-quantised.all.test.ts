// Quantised folders → GGUF: equal bytes to converting the dequantised floats.
import { readFileSync } from 'node:fs';
import { type MixName, openGguf, quantizeSource } from '@quern/quant';
import { openModelFile, toGguf } from '../src/index.js';
import { scratch } from './model-files.js';
import {
  awqMatrix,
  f8Matrix,
  f64Matrix,
  gptqMatrix,
  type MakeMatrix,
  writeFolders,
} from './quantised-folders.js';

const gptq = { quant_method: 'gptq', bits: 4, group_size: 32, desc_act: false, sym: true };
const inBlocks = (N: number, K: number) => [Math.ceil(N / 32), Math.ceil(K / 48)];

const folders: readonly (readonly [string, object | undefined, MakeMatrix])[] = [
  ['gptq of 4 bits', gptq, gptqMatrix({ bits: 4, group: 32, symmetric: true })],
  [
    'gptq of 4 bits, act-order, asymmetric',
    { ...gptq, desc_act: true, sym: false },
    gptqMatrix({ bits: 4, group: 32, ordered: true }),
  ],
  ['gptq of 8 bits', { ...gptq, bits: 8 }, gptqMatrix({ bits: 8, group: 32, symmetric: true })],
  ['awq', { quant_method: 'awq', bits: 4, group_size: 32, version: 'gemm' }, awqMatrix(32)],
  [
    'f8 with a scale for each block',
    { quant_method: 'fp8', weight_block_size: [32, 48] },
    f8Matrix('f8_e4m3', { name: 'weight_scale_inv', shape: inBlocks }, [32, 48]),
  ],
  ['f64', undefined, f64Matrix],
];

async function converted(folder: string, name: string, mix: MixName) {
  const file = await openModelFile(folder);
  if (file.kind !== 'huggingFace') throw new Error(`${folder} opened as GGUF`);
  const notices: string[] = [];
  const onNotice = (text: string) => notices.push(text);
  await quantizeSource(await toGguf(file, { onNotice }), scratch(name), { mix, threads: 2, onNotice });
  const { tensors } = await openGguf(scratch(name));
  const bytes = readFileSync(scratch(name));
  const data = tensors.map((tensor) => [
    tensor.name,
    tensor.format,
    bytes.subarray(tensor.offset, tensor.offset + tensor.byteLength).toString('base64'),
  ]);
  return { data, notices };
}

describe.each(folders)('%s', (name, config, make) => {
  test.each(['f32', 'f16', 'q8_0', 'q4_0'] as const)('to %s', async (mix) => {
    const { quantised, plain } = writeFolders(`to-gguf ${name}`, config, make);
    const got = await converted(quantised, 'quantised.gguf', mix);
    expect(got.data).toEqual((await converted(plain, 'plain.gguf', mix)).data);
    const twice = got.notices.filter((text) => text.includes('already'));
    expect(twice).toEqual(
      config && mix !== 'f32' ? [expect.stringMatching(/14 tensors are quantised already/)] : [],
    );
  });
});
