import type { FileSlice, WeightSource } from '@quern/core';
import type { GgmlFile, GgufFile, SafetensorsFile } from '@quern/quant';
import type { Quantisation } from '../config/quantisation.js';
import type { FileTensor } from './file-tensor.js';
import { mapOthers, otherTensors, withQuantised } from './quantised-tensors.js';

/** Tensor names: llama.cpp's or transformers'. */
export type Naming = 'gguf' | 'huggingFace';

/** Tensors of one format, loaded as one: matrices [N, K] as a stack [E, N, K], or rows of a matrix in another order. */
export interface TensorStack extends Pick<WeightSource, 'name' | 'shape' | 'format'> {
  readonly parts: readonly FileTensor[];
}

/** The source of one Weight. */
export type StoredTensor = FileTensor | TensorStack;

/** The tensors of a source: itself, or the matrices of a stack. */
export const partsOf = (tensor: StoredTensor): readonly FileTensor[] =>
  'parts' in tensor ? tensor.parts : [tensor];

/** The values follow from the configuration; no file holds them. */
export const isConstant = (
  tensor: StoredTensor,
): tensor is FileTensor & Required<Pick<FileTensor, 'constant'>> => 'constant' in tensor;

/** The file slices of a source. */
export const slicesOf = (tensor: StoredTensor): readonly FileSlice[] =>
  partsOf(tensor)
    .flatMap((part) => [part, ...(part.quantised ? otherTensors(part.quantised) : [])])
    .map(({ bytes }) => bytes);

const readWhole = (tensor: FileTensor): FileTensor => ({
  ...tensor,
  bytes: { ...tensor.bytes, mmap: false },
  ...(tensor.quantised && { quantised: mapOthers(tensor.quantised, readWhole) }),
});

/** The source without file mapping: the backend reads its bytes into memory. */
export const unmapped = (tensor: StoredTensor): StoredTensor =>
  'parts' in tensor ? { ...tensor, parts: tensor.parts.map(readWhole) } : readWhole(tensor);

/** Bytes in the file, with scales and zero points; rows of a grouped matrix: their share. */
export const storedBytes = (tensor: StoredTensor): number =>
  Math.round(
    partsOf(tensor).reduce((total, part) => {
      const bytes = slicesOf(part).reduce((sum, { byteLength }) => sum + byteLength, 0);
      return total + bytes * shareOf(part);
    }, 0),
  );

/** The share of its bytes that a tensor reads. */
const shareOf = ({ shape, quantised, transposed }: FileTensor): number => {
  const whole = quantised && quantised.kind !== 'f8' ? quantised.rows : transposed;
  return whole ? shape[0]! / whole.of : 1;
};

/** A model's tensors by name, in any container. */
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

/**
 * The tensors of a whisper.cpp file, under their own names (GGUF uses the same). Convolution biases are columns there:
 * [N, 1].
 */
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
 * The tensors of a safetensors model. Quantised matrices have the name of the unquantised matrix.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT if the parts of a quantised matrix do not
 * match.
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
