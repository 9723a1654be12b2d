import { ModelError } from '../error.js';
import type { FileTensor } from '../weights/file-tensor.js';
import type { Naming } from '../weights/weight-file.js';

/** The low-rank change of one matrix, in its file: W + scale · B · A. */
export interface StoredPair {
  /** [r, K] */
  readonly a: FileTensor;
  /** [N, r] */
  readonly b: FileTensor;
  readonly scale: number;
}

/** An adapter's file: pairs by the name of their matrix in files of the same kind. */
export interface StoredAdapter {
  readonly path: string;
  readonly naming: Naming;
  readonly pairs: ReadonlyMap<string, StoredPair>;
}

export const badAdapter = (message: string): ModelError => new ModelError('BAD_ADAPTER', message);

/** Half of a pair, by the name of its tensor. */
export interface Half {
  readonly matrix: string;
  readonly side: 'a' | 'b';
}

/**
 * Joins the halves of all pairs.
 * @throws ModelError BAD_ADAPTER for a tensor that `halfOf` does not know, a missing half, and ranks that differ
 */
export function pairUp(
  path: string,
  tensors: Iterable<FileTensor>,
  halfOf: (name: string) => Half | undefined,
  scaleOf: (matrix: string, rank: number) => number,
): ReadonlyMap<string, StoredPair> {
  const halves = new Map<string, { a?: FileTensor; b?: FileTensor }>();
  for (const tensor of tensors) {
    const half = halfOf(tensor.name);
    if (!half) throw badAdapter(`${path}: tensor '${tensor.name}' is no part of a low-rank pair (A, B)`);
    const known = halves.get(half.matrix) ?? {};
    halves.set(half.matrix, { ...known, [half.side]: tensor });
  }
  if (halves.size === 0) throw badAdapter(`${path}: holds no low-rank pair`);
  const pairs = Array.from(halves, ([matrix, half]) => {
    const { a, b } = needPair(path, matrix, half);
    return [matrix, { a, b, scale: scaleOf(matrix, a.shape[0]!) }] as const;
  });
  return new Map(pairs);
}

function needPair(
  path: string,
  matrix: string,
  { a, b }: { readonly a?: FileTensor; readonly b?: FileTensor },
): { readonly a: FileTensor; readonly b: FileTensor } {
  if (!a || !b) throw badAdapter(`${path}: the pair of '${matrix}' lacks its ${a ? 'B' : 'A'}`);
  const fits = a.shape.length === 2 && b.shape.length === 2 && a.shape[0] === b.shape[1] && a.shape[0]! > 0;
  if (!fits)
    throw badAdapter(
      `${path}: the pair of '${matrix}' must have shapes A [r, K] and B [N, r]; got [${a.shape}] and [${b.shape}]`,
    );
  return { a, b };
}
