import { ModelError } from '../error.js';
import type { FileTensor } from './file-tensor.js';
import type { StoredTensor, WeightFile } from './weight-file.js';

/** The file with every tensor replaced by `map(tensor)`. */
export function mapTensors(file: WeightFile, map: (tensor: FileTensor) => readonly FileTensor[]): WeightFile {
  const tensors = [...file.tensors.values()].flatMap((tensor) => map(tensor));
  return { ...file, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

/**
 * A matrix [n · N, K] → n = `names.length` matrices [N, K]. Returned uncut if quantised, or if rows or bytes are not
 * divisible by n.
 */
export function cutRows(tensor: FileTensor, names: readonly string[]): readonly FileTensor[] {
  const [rows = 0, ...rest] = tensor.shape;
  const { path, offset, byteLength } = tensor.bytes;
  const count = names.length;
  if (tensor.quantised || rows % count !== 0 || byteLength % count !== 0) return [tensor];
  const part = byteLength / count;
  return names.map((name, i) => ({
    ...tensor,
    name,
    shape: [rows / count, ...rest],
    bytes: { path, offset: offset + i * part, byteLength: part },
  }));
}

/** Rows [first, first + count) of a matrix. @throws ModelError UNKNOWN_FORMAT for a quantised matrix or a stack. */
export function takeRows(tensor: StoredTensor, first: number, count: number): FileTensor {
  if ('parts' in tensor || tensor.quantised)
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `tensor '${tensor.name}' is ${tensor.format}; Quern cannot split its rows; use another format of the model`,
    );
  const [rows = 1, ...rest] = tensor.shape;
  const { path, offset, byteLength } = tensor.bytes;
  const rowBytes = byteLength / rows;
  const bytes = { path, offset: offset + first * rowBytes, byteLength: count * rowBytes };
  return { ...tensor, shape: [count, ...rest], bytes };
}
