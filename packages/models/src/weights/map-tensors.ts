import { ModelError } from '../error.js';
import type { FileTensor } from './file-tensor.js';
import { type GroupedTensor, isGrouped } from './gptq.js';
import type { StoredTensor, WeightFile } from './weight-file.js';
import type { RowRange } from './weight-table.js';

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
  if (tensor.transposed)
    return {
      ...tensor,
      shape: [count, ...rest],
      transposed: { ...tensor.transposed, from: tensor.transposed.from + first },
    };
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

/** The rows of a tensor in the order of `ranges`. */
export function gatherRows(tensor: FileTensor, ranges: readonly RowRange[]): StoredTensor {
  const parts = joined(ranges).map(([from, count]) => takeRows(tensor, from, count));
  if (parts.length === 1) return parts[0]!;
  const { name, format, shape } = tensor;
  const rows = ranges.reduce((sum, [, count]) => sum + count, 0);
  return { name, format, shape: [rows, ...shape.slice(1)], parts };
}

/** Neighbours that follow one another become one range. */
function joined(ranges: readonly RowRange[]): readonly RowRange[] {
  const result: [number, number][] = [];
  for (const [from, count] of ranges) {
    const last = result.at(-1);
    if (last && last[0] + last[1] === from) last[1] += count;
    else result.push([from, count]);
  }
  return result;
}

/** Rows [first, first + count) of the rows in `ranges`, counted in their order. */
export function rangesWithin(ranges: readonly RowRange[], first: number, count: number): readonly RowRange[] {
  let at = 0; // rows of the ranges before
  return ranges.flatMap(([from, rows]) => {
    const start = Math.max(0, first - at);
    const end = Math.min(rows, first + count - at);
    at += rows;
    return start < end ? [[from + start, end - start] as const] : [];
  });
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
