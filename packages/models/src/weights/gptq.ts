import { f16ToF32, f32ToF16, GptqRows, type GptqSource } from '@quern/core';
import { awqWeightsAsGptq, awqZerosAsGptq, decode, isGgufFormat } from '@quern/quant';
import { ModelError } from '../error.js';
import type { GroupedIntegers } from './quantised-tensors.js';
import { readTensor } from './read-bytes.js';
import type { FileTensor, StoredTensor } from './weight-file.js';

/** A tensor that is made of integers in groups. */
export type GroupedTensor = FileTensor & { readonly quantised: GroupedIntegers };

export const isGrouped = (tensor: StoredTensor): tensor is GroupedTensor =>
  'quantised' in tensor && tensor.quantised !== undefined && tensor.quantised.kind !== 'f8';

/**
 * What a backend's quantGptq takes: slices of the file where it holds them so, else their bytes, rearranged.
 * @throws ModelError UNKNOWN_FORMAT where scales have no exact f16; FileError READ_FAILED or TRUNCATED.
 */
export async function gptqSource(tensor: GroupedTensor): Promise<GptqSource> {
  const { bits, groupSize, version, groupIndex, scales } = tensor.quantised;
  const [N, K] = tensor.shape as readonly [number, number];
  return {
    name: tensor.name,
    shape: [N, K],
    bits,
    groupSize,
    version,
    ...(await integers(tensor, N, K)),
    scales: scales.format === 'f16' ? scales.bytes : await asF16(scales),
    ...(groupIndex && { groupIndex: groupIndex.bytes }),
  };
}

/** The rows of such a matrix, in memory. */
export async function gptqRows(tensor: GroupedTensor): Promise<GptqRows> {
  const source = await gptqSource(tensor);
  const { qzeros, scales, groupIndex } = tensor.quantised;
  const inMemory = async (part: GptqSource['scales'], from: FileTensor) =>
    part instanceof Uint8Array ? part : await readTensor(from);
  return new GptqRows({
    ...source,
    qweight: await inMemory(source.qweight, tensor),
    qzeros: await inMemory(source.qzeros, qzeros),
    scales: await inMemory(source.scales, scales),
    groupIndex: groupIndex && (await readTensor(groupIndex)),
  });
}

async function integers(
  tensor: GroupedTensor,
  N: number,
  K: number,
): Promise<Pick<GptqSource, 'qweight' | 'qzeros'>> {
  const { kind, qzeros } = tensor.quantised;
  if (kind === 'gptq') return { qweight: tensor.bytes, qzeros: qzeros.bytes };
  const words = async (part: FileTensor) => new Int32Array((await readTensor(part)).buffer as ArrayBuffer);
  return {
    qweight: bytesOf(awqWeightsAsGptq(await words(tensor), N, K)),
    qzeros: bytesOf(awqZerosAsGptq(await words(qzeros))),
  };
}

const bytesOf = ({ buffer }: Int32Array | Uint16Array) => new Uint8Array(buffer);

async function asF16(scales: FileTensor): Promise<Uint8Array> {
  const { format, bytes, name, shape } = scales;
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  if (isGgufFormat(format)) decode(format, await readTensor(scales), 0, values, 0, values.length);
  const halves = Uint16Array.from(values, f32ToF16);
  const lost = values.find((value, i) => f16ToF32(halves[i]!) !== value);
  if (lost !== undefined)
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${bytes.path}: tensor '${name}' has the scale ${lost} in ${format}; scales must be numbers that f16 holds`,
    );
  return bytesOf(halves);
}
