import { setImmediate } from 'node:timers/promises';
import { type Backend, elementCount, type WeightSource } from '@quern/core';
import {
  byteLength,
  decode,
  f8Values,
  type GgufFormat,
  iq8,
  isF8Format,
  isGgufFormat,
  isIq8Source,
  toIq8,
} from '@quern/quant';
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
  const { bytesOf, decode } = await decoderOf(tensor);
  for await (const { at, count, bytes } of readPieces(tensor, bytesOf, signal))
    decode(bytes, values, at, count);
}

/** What a tensor is decoded to for a backend that does not read its format: f32, or iq8 where that is the same and it reads it. */
export const decodedFormat = ({ quantGguf }: Backend, { format, shape }: StoredTensor): 'f32' | 'iq8' =>
  isIq8Source(format) && shape.length > 1 && quantGguf?.formats.has(iq8.name) ? 'iq8' : 'f32';

/** Bytes of a tensor so decoded. */
export function decodedBytes(backend: Backend, tensor: StoredTensor): number {
  const each = decodedFormat(backend, tensor) === 'iq8' ? iq8.blockBytes / iq8.blockSize : 4;
  return each * elementCount(tensor.shape);
}

/** A tensor for a backend that does not read its format. */
export async function decodedSource(
  backend: Backend,
  tensor: StoredTensor,
  signal?: AbortSignal,
): Promise<WeightSource> {
  const { name, shape } = tensor;
  const rewritten = decodedFormat(backend, tensor) === 'iq8' && (await rewriteAsIq8(tensor, signal));
  if (rewritten) return { name, shape, format: iq8.name, bytes: rewritten };
  const values = await decodeToF32(tensor, signal);
  return { name, shape, format: 'f32', bytes: new Uint8Array(values.buffer) };
}

/** The blocks of a tensor as iq8, or undefined where they have none. */
async function rewriteAsIq8(
  tensor: StoredTensor,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  const rewrittenBytes = (elements: number) => (elements / iq8.blockSize) * iq8.blockBytes;
  const rewritten = new Uint8Array(rewrittenBytes(elementCount(tensor.shape)));
  let first = 0; // element of the whole
  for (const part of partsOf(tensor)) {
    const { format } = part;
    if (!isIq8Source(format)) return undefined;
    for await (const { at, count, bytes } of readPieces(part, blockBytes(format), signal)) {
      const place = rewritten.subarray(rewrittenBytes(first + at), rewrittenBytes(first + at + count));
      if (!toIq8(format, bytes, place)) return undefined;
    }
    first += elementCount(part.shape);
  }
  return rewritten;
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

/** The bytes of a tensor, in pieces of so many elements. */
async function* readPieces(
  { shape, bytes: { path, offset } }: FileTensor,
  bytesOf: (elements: number) => number,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly at: number; readonly count: number; readonly bytes: Uint8Array }> {
  const total = elementCount(shape);
  const file = await openFile(path);
  try {
    for (let at = 0; at < total; at += chunk) {
      throwIfAborted(signal);
      const count = Math.min(chunk, total - at);
      const bytes = new Uint8Array(bytesOf(count));
      await readAt(file, path, offset + bytesOf(at), bytes);
      yield { at, count, bytes };
    }
  } finally {
    await file.close();
  }
}

/** How elements are decoded from some place on. */
interface PieceDecoder {
  bytesOf(elements: number): number;
  decode(bytes: Uint8Array, values: Float32Array, at: number, count: number): void;
}

const blockBytes = (format: GgufFormat) => (elements: number) =>
  elements === 0 ? 0 : byteLength(format, [elements]);

async function decoderOf(tensor: FileTensor): Promise<PieceDecoder> {
  const { format, name, bytes } = tensor;
  if (isF8Format(format)) return scaledDecoder(tensor, f8Values[format]);
  if (!isGgufFormat(format))
    throw new ModelError('UNKNOWN_FORMAT', `${bytes.path}: tensor '${name}' is ${format}`);
  return {
    bytesOf: blockBytes(format),
    decode: (blocks, values, at, count) => decode(format, blocks, 0, values, at, count),
  };
}

/** A byte each, which stands for one of 256 values, times the factor of its block of rows and columns. */
async function scaledDecoder({ shape, quantised }: FileTensor, numbers: Float32Array): Promise<PieceDecoder> {
  const columns = shape.at(-1) ?? 1;
  const scaled = quantised?.kind === 'f8' ? quantised : undefined;
  const scales = scaled?.scale ? await decodeToF32(scaled.scale) : Float32Array.of(1);
  const { blockRows, blockColumns } = scaled?.scale ? scaled : { blockRows: Infinity, blockColumns: columns };
  const acrossScales = Math.ceil(columns / blockColumns);
  return {
    bytesOf: (elements) => elements,
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
