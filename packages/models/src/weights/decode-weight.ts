import type { FileHandle } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { elementCount, type WeightSource } from '@quern/core';
import { byteLength, decode, f8Values, isF8Format, isGgufFormat } from '@quern/quant';
import { ModelError } from '../error.js';
import { type GroupedTensor, gptqRows, isGrouped } from './gptq.js';
import { openFile, readAt, readTensor } from './read-bytes.js';
import { type FileTensor, partsOf, type StoredTensor, storedBytes, type TensorStack } from './weight-file.js';

/** Elements decoded between two turns of the event loop: a few milliseconds. A whole number of blocks of any format. */
const chunk = 2 ** 18;

/**
 * A tensor's values as f32 in memory, decoded piece by piece so that the event loop goes on.
 * @throws ModelError UNKNOWN_FORMAT or ABORTED; FileError READ_FAILED or TRUNCATED.
 */
export async function decodeToF32(
  tensor: StoredTensor,
  signal?: AbortSignal,
): Promise<Float32Array<ArrayBuffer>> {
  const values = new Float32Array(elementCount(tensor.shape));
  let at = 0;
  for (const part of partsOf(tensor)) {
    const count = elementCount(part.shape);
    await decodeInto(values.subarray(at, at + count), part, signal);
    at += count;
  }
  return values;
}

async function decodeInto(
  values: Float32Array,
  tensor: FileTensor,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (isGrouped(tensor)) return decodeGrouped(values, tensor, signal);
  const pieces = await piecesOf(tensor);
  const file = await openFile(tensor.bytes.path);
  try {
    for (let at = 0; at < values.length; at += chunk) {
      throwIfAborted(signal);
      await decodePiece(file, tensor, pieces, values, at);
    }
  } finally {
    await file.close();
  }
}

/** The same as a WeightSource. */
export async function decodedSource(tensor: StoredTensor, signal?: AbortSignal): Promise<WeightSource> {
  const values = await decodeToF32(tensor, signal);
  return { name: tensor.name, shape: tensor.shape, format: 'f32', bytes: new Uint8Array(values.buffer) };
}

/** A stack in one piece, in memory, for backends that cannot gather its parts themselves. */
export async function gatheredSource(stack: TensorStack, signal?: AbortSignal): Promise<WeightSource> {
  const { name, shape, format } = stack;
  const bytes = new Uint8Array(storedBytes(stack));
  let at = 0;
  for (const part of stack.parts) {
    throwIfAborted(signal);
    bytes.set(await readTensor(part), at);
    at += part.bytes.byteLength;
  }
  return { name, shape, format, bytes };
}

/** How a tensor is decoded from some element on. */
interface Pieces {
  byteLength(elements: number): number;
  decode(bytes: Uint8Array, values: Float32Array, at: number, count: number): void;
}

async function piecesOf(tensor: FileTensor): Promise<Pieces> {
  const { format, name, bytes } = tensor;
  if (isF8Format(format)) return scaledPieces(tensor, f8Values[format]);
  if (!isGgufFormat(format))
    throw new ModelError('UNKNOWN_FORMAT', `${bytes.path}: tensor '${name}' is ${format}`);
  return {
    byteLength: (elements) => (elements === 0 ? 0 : byteLength(format, [elements])),
    decode: (blocks, values, at, count) => decode(format, blocks, 0, values, at, count),
  };
}

/** A byte each, which stands for one of 256 values, times the factor of its block of rows and columns. */
async function scaledPieces({ shape, quantised }: FileTensor, numbers: Float32Array): Promise<Pieces> {
  const columns = shape.at(-1) ?? 1;
  const scaled = quantised?.kind === 'f8' ? quantised : undefined;
  const scales = scaled?.scale ? await decodeToF32(scaled.scale) : Float32Array.of(1);
  const { blockRows, blockColumns } = scaled?.scale ? scaled : { blockRows: Infinity, blockColumns: columns };
  const acrossScales = Math.ceil(columns / blockColumns);
  return {
    byteLength: (elements) => elements,
    decode(bytes, values, at, count) {
      for (let i = 0; i < count; ) {
        const row = Math.floor((at + i) / columns);
        const column = (at + i) % columns;
        const scale = scales[Math.floor(row / blockRows) * acrossScales + Math.floor(column / blockColumns)]!;
        const run = Math.min(columns - column, blockColumns - (column % blockColumns)); // of one scale
        for (const end = Math.min(count, i + run); i < end; i++) values[at + i] = numbers[bytes[i]!]! * scale;
      }
    },
  };
}

async function decodePiece(
  file: FileHandle,
  { bytes: { path, offset } }: FileTensor,
  pieces: Pieces,
  values: Float32Array,
  at: number,
): Promise<void> {
  const count = Math.min(chunk, values.length - at);
  const bytes = new Uint8Array(pieces.byteLength(count));
  await readAt(file, path, offset + pieces.byteLength(at), bytes);
  pieces.decode(bytes, values, at, count);
}

async function decodeGrouped(
  values: Float32Array,
  tensor: GroupedTensor,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [N, K] = tensor.shape as readonly [number, number];
  const rows = await gptqRows(tensor);
  const together = Math.max(1, Math.floor(chunk / K));
  for (let n = 0; n < N; n += together) {
    throwIfAborted(signal);
    rows.decode(n, Math.min(together, N - n), values, n * K);
    await setImmediate();
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ModelError('ABORTED', 'loading was aborted', { cause: signal.reason });
}
