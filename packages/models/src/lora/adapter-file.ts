import { stat } from 'node:fs/promises';
import { checkArgument, readWeight, rules } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import { rotatingHeads } from '../convert/rotating.js';
import { badArgument, ModelError } from '../error.js';
import type { ModelFile } from '../model-file.js';
import { decodeToF32 } from '../weights/decode-weight.js';
import type { FileTensor } from '../weights/file-tensor.js';
import { needUnchanged } from '../weights/need-unchanged.js';
import { isDense } from '../weights/resolve-weights.js';
import { openGgufAdapter } from './gguf-adapter.js';
import { type MatrixPlace, matrixPlaces } from './matrix-places.js';
import { openPeft } from './peft.js';
import { underTableNames } from './rename-pairs.js';
import { badAdapter, type StoredAdapter, type StoredPair } from './stored-adapter.js';

/** A matrix in memory, in a dense format. */
export interface DenseMatrix {
  readonly shape: readonly [number, number];
  readonly format: 'f32' | 'f16' | 'bf16';
  readonly bytes: Uint8Array;
}

/** The low-rank change of one matrix of a layer: W + scale · factor · B · A. */
export interface LowRankPair {
  readonly layer: number;
  /** Field of the weight table. */
  readonly field: string;
  /** [r, K] */
  readonly a: DenseMatrix;
  /** [N, r] */
  readonly b: DenseMatrix;
  /** 1, unless the pairs of the adapter have different scales. */
  readonly factor: number;
}

/** A LoRA adapter (Hu et al. 2021), read into memory and checked against its model. */
export interface Adapter {
  readonly path: string;
  /** The largest rank of its pairs. */
  readonly rank: number;
  readonly scale: number;
  readonly pairs: readonly LowRankPair[];
  readonly byteLength: number;
}

export interface OpenAdapterOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a LoRA adapter for a model: a folder of PEFT, or a GGUF file. It changes products of layers: attention and
 * dense feed-forward.
 * @throws ModelError NOT_FOUND, BAD_ADAPTER, BAD_CONFIG, UNSUPPORTED_CONFIG, UNKNOWN_FORMAT, ABORTED; FileError
 */
export async function openAdapter(
  path: string,
  model: ModelFile,
  { signal }: OpenAdapterOptions = {},
): Promise<Adapter> {
  checkArgument('openAdapter', 'path', path, rules.path, badArgument);
  const stored = underTableNames(await openStored(path, model), model);
  const places = matrixPlaces(model.architecture, model.config, stored.naming);
  const [first] = stored.pairs.values();
  const { scale } = first!;
  const reorder = rowOrder(stored, model);
  const paths = new Set([...stored.pairs.values()].flatMap(({ a, b }) => [a.bytes.path, b.bytes.path]));
  const pairs = await needUnchanged(paths, async () => {
    const read: LowRankPair[] = [];
    for (const [matrix, pair] of stored.pairs) {
      const found = places.find(stored.path, matrix);
      needShapes(stored.path, matrix, pair, found);
      read.push(...(await readPair(pair, found, pair.scale / scale, reorder, signal)));
    }
    return read;
  });
  const rank = Math.max(...pairs.map(({ a }) => a.shape[0]));
  const byteLength = pairs.reduce((sum, { a, b }) => sum + a.bytes.length + b.bytes.length, 0);
  return { path, rank, scale, pairs, byteLength };
}

async function openStored(path: string, { architecture }: ModelFile): Promise<StoredAdapter> {
  const status = await stat(path).catch(() => undefined);
  if (!status) throw new ModelError('NOT_FOUND', `${path}: there is no such adapter (file or folder)`);
  const isPeft = status.isDirectory() || /\.(json|safetensors)$/.test(path);
  return isPeft ? openPeft(path) : openGgufAdapter(path, architecture.gguf?.name);
}

function needShapes(
  path: string,
  matrix: string,
  { a, b }: StoredPair,
  [{ columns, of }]: readonly [MatrixPlace, ...MatrixPlace[]],
): void {
  if (a.shape[1] !== columns || b.shape[0] !== of)
    throw badAdapter(
      `${path}: the pair of '${matrix}' changes a matrix [${b.shape[0]}, ${a.shape[1]}]; the model's is [${of}, ${columns}]: the adapter belongs to another model`,
    );
}

/** Reads a pair, for each parameter that lies in its matrix. */
async function readPair(
  { a, b }: StoredPair,
  places: readonly MatrixPlace[],
  factor: number,
  reorder: RowOrder,
  signal: AbortSignal | undefined,
): Promise<LowRankPair[]> {
  const readA = await readMatrix(a, signal);
  const readB = await readMatrix(b, signal);
  return places.map(({ layer, field, from, rows, rowOf = (row) => from + row }) => {
    const own = takeRows(readB, rows, (row) => rowOf(reorder(field, row)));
    return { layer, field, a: readA, b: own, factor };
  });
}

async function readMatrix(tensor: FileTensor, signal: AbortSignal | undefined): Promise<DenseMatrix> {
  const shape = tensor.shape as readonly [number, number];
  if (signal?.aborted) throw new ModelError('ABORTED', 'loading was aborted', { cause: signal.reason });
  if (isDense(tensor)) {
    const format = tensor.format as DenseMatrix['format'];
    return { shape, format, bytes: await readWeight(tensor) };
  }
  const values = await decodeToF32(tensor, { signal });
  return { shape, format: 'f32', bytes: new Uint8Array(values.buffer) };
}

/** `count` rows of a matrix; row i is its row `rowOf(i)`. */
function takeRows(
  { shape: [N, K], format, bytes }: DenseMatrix,
  count: number,
  rowOf: (row: number) => number,
): DenseMatrix {
  const rowBytes = bytes.length / N;
  const taken = new Uint8Array(count * rowBytes);
  for (let row = 0; row < count; row++) {
    const from = rowOf(row) * rowBytes;
    taken.set(bytes.subarray(from, from + rowBytes), row * rowBytes);
  }
  return { shape: [count, K], format, bytes: taken };
}

/** The row of the adapter's B for a row of a field of the model. */
type RowOrder = (field: string, row: number) => number;

/** llama.cpp's Llama has the rotated rows of a head in another order than Hugging Face's files. */
function rowOrder({ naming }: StoredAdapter, { architecture, config, kind }: ModelFile): RowOrder {
  const isReordered = architecture.gguf?.rope === 'interleaved';
  const orderOf = (of: 'gguf' | 'huggingFace') => (of === 'gguf' && isReordered ? 'interleaved' : 'halves');
  const [from, to] = [orderOf(naming), orderOf(kind)];
  if (from === to) return (_, row) => row;
  const change = to === 'interleaved' ? fromHalves : fromInterleaved;
  return (field, row) => (field in rotatingHeads ? change(row, config) : row);
}

function fromHalves(row: number, { headDim }: DecoderConfig): number {
  const p = row % headDim;
  return row - p + (p >> 1) + (p & 1) * (headDim >> 1);
}

function fromInterleaved(row: number, { headDim }: DecoderConfig): number {
  const p = row % headDim;
  const half = headDim >> 1;
  return row - p + (p < half ? 2 * p : 2 * (p - half) + 1);
}
