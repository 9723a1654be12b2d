import { ModelError } from '../error.js';
import type { FileTensor } from './file-tensor.js';
import { type GroupedTensor, isGrouped } from './gptq.js';
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

/** Rows [first, first + count) of a matrix. @throws ModelError UNKNOWN_FORMAT for a stack, and for rows that split words of zero points. */
export function takeRows(tensor: StoredTensor, first: number, count: number): FileTensor {
  if ('parts' in tensor) throw inseparable(tensor, 'lies in several tensors');
  if (isGrouped(tensor)) return takeGroupedRows(tensor, first, count);
  const [rows = 1, ...rest] = tensor.shape;
  const { path, offset, byteLength } = tensor.bytes;
  const rowBytes = byteLength / rows;
  const bytes = { path, offset: offset + first * rowBytes, byteLength: count * rowBytes };
  const { quantised } = tensor;
  return {
    ...tensor,
    shape: [count, ...rest],
    bytes,
    ...(quantised?.kind === 'f8' && {
      quantised: { ...quantised, firstRow: (quantised.firstRow ?? 0) + first },
    }),
  };
}

function takeGroupedRows(tensor: GroupedTensor, first: number, count: number): FileTensor {
  const { quantised, shape } = tensor;
  const [N, K] = shape as readonly [number, number];
  const { from, of } = quantised.rows ?? { from: 0, of: N };
  const perWord = 32 / quantised.bits; // zero points of as many rows lie in a word
  if (first % perWord !== 0 || count % perWord !== 0)
    throw inseparable(
      tensor,
      `holds ${count} rows from row ${first} on, which are no multiples of ${perWord}`,
    );
  return { ...tensor, shape: [count, K], quantised: { ...quantised, rows: { from: from + first, of } } };
}

const inseparable = ({ name, format }: StoredTensor, why: string): ModelError =>
  new ModelError(
    'UNKNOWN_FORMAT',
    `tensor '${name}' is ${format} and ${why}: its rows cannot be taken apart; use another format of the model`,
  );
