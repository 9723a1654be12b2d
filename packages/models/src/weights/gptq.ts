import { f16ToF32, f32ToF16, type GptqSource, type WeightBytes } from '@quern/core';
import { decode, GptqRows, type GroupedMatrix, isGgufFormat, type Recipe, type RowsJob } from '@quern/quant';
import { ModelError } from '../error.js';
import { type DecodeOptions, decodeAll, type Piece, pieceElements } from './decode-pieces.js';
import type { FileTensor, GroupedIntegers } from './file-tensor.js';
import { readBytes } from './read-bytes.js';
import type { StoredTensor } from './weight-file.js';

/** A GPTQ or AWQ matrix. */
export type GroupedTensor = FileTensor & { readonly quantised: GroupedIntegers };

export const isGrouped = (tensor: StoredTensor): tensor is GroupedTensor =>
  'quantised' in tensor && tensor.quantised !== undefined && tensor.quantised.kind !== 'f8';

/** The matrix that a tensor is rows of, from row `from` on, or the tensor itself. */
export function wholeOf(tensor: GroupedTensor): { readonly whole: GroupedTensor; readonly from: number } {
  const { rows, ...quantised } = tensor.quantised;
  if (!rows) return { whole: tensor, from: 0 };
  return { whole: { ...tensor, shape: [rows.of, tensor.shape[1]!], quantised }, from: rows.from };
}

/**
 * The input of a backend's quantGptq. GPTQ: slices of the file; AWQ: bytes in memory, rearranged to GPTQ's layout.
 * @throws ModelError UNKNOWN_FORMAT for scales without exact f16; else as `decodeAll`.
 */
export async function gptqSource(tensor: GroupedTensor, options: DecodeOptions = {}): Promise<GptqSource> {
  const { whole, from } = wholeOf(tensor);
  const source = { ...(await allButIntegers(whole)), ...(await integers(whole, options)) };
  return whole === tensor ? source : rowsOf(source, from, tensor.shape[0]!);
}

const inMemory = async (part: WeightBytes): Promise<Uint8Array> =>
  part instanceof Uint8Array ? part : await readBytes(part);

/** Rows [from, from + count) of a matrix are columns of its parts. */
async function rowsOf(source: GptqSource, from: number, count: number): Promise<GptqSource> {
  const { shape, bits, qweight, qzeros, scales } = source;
  const [N, K] = shape;
  const columns = async (part: WeightBytes, bytes: number) =>
    columnsOf(await inMemory(part), N * bytes, from * bytes, count * bytes);
  return {
    ...source,
    shape: [count, K],
    qweight: await columns(qweight, 4),
    qzeros: await columns(qzeros, bits / 8),
    scales: await columns(scales, 2),
  };
}

/** Bytes [first, first + length) of each row of `stride` bytes. */
function columnsOf(bytes: Uint8Array, stride: number, first: number, length: number): Uint8Array {
  const rows = bytes.length / stride;
  const taken = new Uint8Array(rows * length);
  for (let row = 0; row < rows; row++)
    taken.set(bytes.subarray(row * stride + first, row * stride + first + length), row * length);
  return taken;
}

async function allButIntegers(tensor: GroupedTensor): Promise<Omit<GptqSource, 'qweight' | 'qzeros'>> {
  const { bits, groupSize, version, groupIndex, scales } = tensor.quantised;
  const [N, K] = tensor.shape as readonly [number, number];
  return {
    name: tensor.name,
    shape: [N, K],
    bits,
    groupSize,
    version,
    scales: scales.format === 'f16' ? scales.bytes : await asF16(scales),
    ...(groupIndex && { groupIndex: groupIndex.bytes }),
  };
}

/** A reader of the rows of the matrix, or of the matrix that the tensor is rows of, from memory. */
export async function gptqRows(tensor: GroupedTensor, signal: AbortSignal | undefined): Promise<GptqRows> {
  const source = await gptqSource(wholeOf(tensor).whole, { signal });
  return new GptqRows({
    ...source,
    qweight: await inMemory(source.qweight),
    qzeros: await inMemory(source.qzeros),
    scales: await inMemory(source.scales),
    groupIndex: source.groupIndex && (await inMemory(source.groupIndex)),
  });
}

/** Rows of K columns per job. */
export const rowsTogether = (K: number): number => Math.max(1, Math.floor(pieceElements / K));

/** Jobs for threads that decode the rows to f32. */
export async function gptqPieces(tensor: GroupedTensor, into: Uint8Array): Promise<Piece<RowsJob>[]> {
  const { kind, qzeros } = tensor.quantised;
  const { whole, from } = wholeOf(tensor);
  const matrix: GroupedMatrix = {
    ...(await allButIntegers(whole)),
    kind,
    qweight: tensor.bytes,
    qzeros: qzeros.bytes,
  };
  const [N, K] = tensor.shape as readonly [number, number];
  const together = rowsTogether(K);
  return Array.from({ length: Math.ceil(N / together) }, (_, i) => {
    const first = i * together;
    const rows = Math.min(together, N - first);
    const place = into.subarray(4 * first * K, 4 * (first + rows) * K);
    return { job: { matrix, first: from + first, rows, byteLength: place.length }, into: place };
  });
}

async function integers(
  tensor: GroupedTensor,
  options: DecodeOptions,
): Promise<Pick<GptqSource, 'qweight' | 'qzeros'>> {
  const { kind, qzeros } = tensor.quantised;
  if (kind === 'gptq') return { qweight: tensor.bytes, qzeros: qzeros.bytes };
  const columns = tensor.shape[0]!;
  const qweight = new Uint8Array(tensor.bytes.byteLength);
  const zeros = new Uint8Array(qzeros.bytes.byteLength);
  const eightRows = 4 * columns; // bytes of AWQ's [8, N / 8] words, which become GPTQ's [1, N]
  const together = eightRows * Math.max(1, Math.floor(pieceElements / (8 * columns)));
  await decodeAll(
    [
      ...slicesOf(tensor, qweight, together, { kind: 'awqWeights', columns }),
      ...slicesOf(qzeros, zeros, 4 * pieceElements, { kind: 'awqZeros' }),
    ],
    options,
  );
  return { qweight, qzeros: zeros };
}

/** Jobs that decode `into.length` bytes, `length` bytes per job. Input and output of a job have the same length. */
function slicesOf(
  { bytes: { path, offset } }: FileTensor,
  into: Uint8Array,
  length: number,
  recipe: Recipe,
): Piece[] {
  return Array.from({ length: Math.ceil(into.length / length) }, (_, i) => {
    const place = into.subarray(i * length, (i + 1) * length);
    const source = { path, offset: offset + i * length, byteLength: place.length };
    return { job: { recipe, source, byteLength: place.length }, into: place };
  });
}

/** f16 scales in shared memory: all jobs of a matrix read them. */
async function asF16(scales: FileTensor): Promise<Uint8Array> {
  const { format, bytes, name, shape } = scales;
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  if (isGgufFormat(format)) decode(format, await readBytes(bytes), 0, values, 0, values.length);
  const halves = Uint16Array.from(values, f32ToF16);
  const lost = values.find((value, i) => f16ToF32(halves[i]!) !== value);
  if (lost !== undefined)
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${bytes.path}: tensor '${name}' has the scale ${lost} in ${format}; scales must be exact in f16`,
    );
  const shared = new Uint8Array(new SharedArrayBuffer(halves.byteLength));
  shared.set(new Uint8Array(halves.buffer));
  return shared;
}
