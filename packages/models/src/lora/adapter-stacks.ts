import type { Backend, Weight, WeightPart } from '@quern/core';
import type { LayerRange } from '../layer-ranges.js';
import type { Adapter, DenseMatrix, LowRankPair } from './adapter-file.js';
import { toF32 } from './to-f32.js';

/** The pairs of one matrix [N, K], of all adapters: place 0 is no adapter. Ranks are filled up with zeros to R. */
export interface MatrixStack {
  /** [E, R, K] */
  readonly a: Weight;
  /** [E, N, R] */
  readonly b: Weight;
}

/** Adapters on the backends of a model. */
export interface AdapterStacks {
  /** By the matrix that they change. */
  readonly stacks: ReadonlyMap<Weight, MatrixStack>;
  /** Bytes on all backends. */
  readonly byteLength: number;
  /** Frees the stacks once no running step uses them. Disposing twice is harmless. */
  dispose(): void;
}

/** Layers of a model on a backend: see `ModelPart`. */
export interface AdaptablePart extends LayerRange {
  readonly backend: Backend;
  weight(layer: number, field: string): Weight | undefined;
}

/**
 * Loads adapters for the parts of a model. Adapter i of the list has place i + 1; undefined leaves a place free. A
 * failure frees everything.
 * @throws BackendError OUT_OF_MEMORY, BAD_WEIGHT, DISPOSED
 */
export async function loadAdapters(
  parts: readonly AdaptablePart[],
  adapters: readonly (Adapter | undefined)[],
): Promise<AdapterStacks> {
  const stacks = new Map<Weight, MatrixStack>();
  const dispose = (): void => {
    for (const { a, b } of stacks.values()) {
      a.dispose();
      b.dispose();
    }
  };
  try {
    for (const part of parts)
      for (const pairs of byMatrix(part, adapters)) {
        const { layer, field } = pairs.find((pair) => pair !== undefined)!;
        const weight = part.weight(layer, field);
        if (weight) stacks.set(weight, await loadStack(part.backend, weight, pairs));
      }
  } catch (error) {
    dispose();
    throw error;
  }
  let byteLength = 0;
  for (const { a, b } of stacks.values()) byteLength += a.byteLength + b.byteLength;
  return { stacks, byteLength, dispose };
}

/** The pairs of each matrix of a part, by place. */
function byMatrix(
  { from, to }: AdaptablePart,
  adapters: readonly (Adapter | undefined)[],
): Iterable<readonly (LowRankPair | undefined)[]> {
  const matrices = new Map<string, (LowRankPair | undefined)[]>();
  for (const [place, adapter] of adapters.entries())
    for (const pair of adapter?.pairs ?? []) {
      if (pair.layer < from || pair.layer >= to) continue;
      const key = `${pair.layer} ${pair.field}`;
      const pairs = matrices.get(key) ?? new Array<LowRankPair | undefined>(adapters.length).fill(undefined);
      pairs[place] = pair;
      matrices.set(key, pairs);
    }
  return matrices.values();
}

async function loadStack(
  backend: Backend,
  { name, shape: [N, K] }: Weight,
  pairs: readonly (LowRankPair | undefined)[],
): Promise<MatrixStack> {
  const R = Math.max(...pairs.map((pair) => pair?.a.shape[0] ?? 0));
  const isScaled = pairs.some((pair) => pair !== undefined && pair.factor !== 1);
  const load = async (side: 'a' | 'b', rows: number, columns: number): Promise<Weight> => {
    const matrices = pairs.map((pair) => pair?.[side]);
    const format = isScaled && side === 'b' ? 'f32' : commonFormat(matrices);
    const factorOf = (i: number) => (side === 'b' ? (pairs[i]?.factor ?? 1) : 1);
    const filled = matrices.flatMap((matrix, i) => filledUp(matrix, rows, columns, format, factorOf(i)));
    return backend.loadWeight({
      name: `${name}.lora_${side}`,
      shape: [pairs.length + 1, rows, columns],
      format,
      bytes: [...filledUp(undefined, rows, columns, format, 1), ...filled],
      uses: ['row', 'rows'],
    });
  };
  const a = await load('a', R, K!);
  try {
    return { a, b: await load('b', N!, R) };
  } catch (error) {
    a.dispose();
    throw error;
  }
}

/** The format of all matrices; f32 if they differ. */
function commonFormat(matrices: readonly (DenseMatrix | undefined)[]): DenseMatrix['format'] {
  const formats = new Set(matrices.flatMap((matrix) => (matrix ? [matrix.format] : [])));
  const [format] = formats;
  return formats.size === 1 ? format! : 'f32';
}

const bytesPer = { f32: 4, f16: 2, bf16: 2 } as const;

/** factor · matrix in the upper left corner of [rows, columns], zeros elsewhere. No matrix: zeros. */
function filledUp(
  matrix: DenseMatrix | undefined,
  rows: number,
  columns: number,
  format: DenseMatrix['format'],
  factor: number,
): WeightPart[] {
  const rowBytes = columns * bytesPer[format];
  const zeros = (count: number): WeightPart[] =>
    count > 0 ? [{ bytes: new Uint8Array(count * rowBytes), rows: count }] : [];
  if (!matrix) return zeros(rows);
  const [n, width] = matrix.shape;
  const own = matrix.format === format && factor === 1 ? matrix.bytes : toF32(matrix, factor);
  const bytes = width === columns ? own : widened(own, n, rowBytes);
  return [{ bytes, rows: n }, ...zeros(rows - n)];
}

/** Rows with zeros at their end, up to `rowBytes`. */
function widened(bytes: Uint8Array, rows: number, rowBytes: number): Uint8Array {
  const all = new Uint8Array(rows * rowBytes);
  const width = bytes.length / rows;
  for (let row = 0; row < rows; row++)
    all.set(bytes.subarray(row * width, (row + 1) * width), row * rowBytes);
  return all;
}
