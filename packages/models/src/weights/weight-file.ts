import type { FileSlice, WeightSource } from '@quern/core';
import type { GgmlFile, GgufFile, SafetensorsFile } from '@quern/quant';
import type { Quantisation } from '../config/quantisation.js';
import type { FileTensor } from './file-tensor.js';
import { mapOthers, otherTensors, withQuantised } from './quantised-tensors.js';

/** The two customs of naming tensors: llama.cpp's and transformers'. */
export type Naming = 'gguf' | 'huggingFace';

/** Matrices [N, K] of one format that lie apart, to be loaded as a stack [E, N, K]. */
export interface TensorStack extends Pick<WeightSource, 'name' | 'shape' | 'format'> {
  readonly parts: readonly FileTensor[];
}

/** What one Weight is loaded from. */
export type StoredTensor = FileTensor | TensorStack;

/** The tensors that it lies in: itself, or the parts of a stack. */
export const partsOf = (tensor: StoredTensor): readonly FileTensor[] =>
  'parts' in tensor ? tensor.parts : [tensor];

/** The slices of files that it is made of. */
export const slicesOf = (tensor: StoredTensor): readonly FileSlice[] =>
  partsOf(tensor)
    .flatMap((part) => [part, ...(part.quantised ? otherTensors(part.quantised) : [])])
    .map(({ bytes }) => bytes);

const readWhole = (tensor: FileTensor): FileTensor => ({
  ...tensor,
  bytes: { ...tensor.bytes, mmap: false },
  ...(tensor.quantised && { quantised: mapOthers(tensor.quantised, readWhole) }),
});

/** The same tensor for a backend that is to read its bytes into memory. */
export const unmapped = (tensor: StoredTensor): StoredTensor =>
  'parts' in tensor ? { ...tensor, parts: tensor.parts.map(readWhole) } : readWhole(tensor);

/** Bytes in the file, those that a quantised tensor depends on included; of rows of a matrix in groups, their share. */
export const storedBytes = (tensor: StoredTensor): number =>
  Math.round(slicesOf(tensor).reduce((sum, { byteLength }) => sum + byteLength, 0) * shareOf(tensor));

const shareOf = (tensor: StoredTensor): number => {
  if ('parts' in tensor || !tensor.quantised || tensor.quantised.kind === 'f8') return 1;
  const { rows } = tensor.quantised;
  return rows ? tensor.shape[0]! / rows.of : 1;
};

/** The tensors of a model by name, whatever container they lie in. */
export interface WeightFile {
  readonly naming: Naming;
  /** One file, or the parts of a split model. */
  readonly paths: readonly string[];
  readonly tensors: ReadonlyMap<string, FileTensor>;
}

export function ggufWeights(file: GgufFile): WeightFile {
  const tensors = file.tensors.map(({ name, shape, format, path, offset, byteLength }) => ({
    name,
    shape,
    format,
    bytes: { path, offset, byteLength },
  }));
  return { naming: 'gguf', paths: file.paths, tensors: byName(tensors) };
}

/** The tensors of a file of whisper.cpp, whose names GGUF files take over. Biases of convolutions are columns there: [N, 1]. */
export function ggmlWeights(file: GgmlFile): WeightFile {
  const tensors = file.tensors.map(({ name, shape, format, path, offset, byteLength }) => ({
    name,
    shape: shape.length === 2 && shape[1] === 1 ? [shape[0]!] : shape,
    format,
    bytes: { path, offset, byteLength },
  }));
  return { naming: 'gguf', paths: [file.path], tensors: byName(tensors) };
}

/**
 * The tensors of a safetensors model; matrices that its configuration says are quantised appear under the name that they would have
 * otherwise.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT where the parts of such a matrix do not fit each other.
 */
export function safetensorsWeights(file: SafetensorsFile, quantisation?: Quantisation): WeightFile {
  const tensors = file.tensors.map(({ name, shape, dtype, path, offset, byteLength }) => ({
    name,
    shape,
    format: dtype,
    bytes: { path, offset, byteLength },
  }));
  return {
    naming: 'huggingFace',
    paths: file.paths,
    tensors: withQuantised(byName(tensors), file.paths[0]!, quantisation),
  };
}

const byName = (tensors: readonly FileTensor[]) => new Map(tensors.map((tensor) => [tensor.name, tensor]));
