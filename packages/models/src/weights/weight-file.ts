import type { WeightSource } from '@quern/core';
import type { GgmlFile, GgufFile, SafetensorsFile } from '@quern/quant';

/** The two customs of naming tensors: llama.cpp's and transformers'. */
export type Naming = 'gguf' | 'huggingFace';

/** A tensor in a file: a WeightSource whose bytes no one has read yet. */
export interface FileTensor extends WeightSource {
  readonly bytes: { readonly path: string; readonly offset: number; readonly byteLength: number };
}

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

export function safetensorsWeights(file: SafetensorsFile): WeightFile {
  const tensors = file.tensors.map(({ name, shape, dtype, path, offset, byteLength }) => ({
    name,
    shape,
    format: dtype,
    bytes: { path, offset, byteLength },
  }));
  return { naming: 'huggingFace', paths: file.paths, tensors: byName(tensors) };
}

const byName = (tensors: readonly FileTensor[]) => new Map(tensors.map((tensor) => [tensor.name, tensor]));
