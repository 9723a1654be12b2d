import { type FileHandle, open } from 'node:fs/promises';
import { elementCount, type WeightSource } from '@quern/core';
import { byteLength, decode, FileError, type GgufFormat, isGgufFormat } from '@quern/quant';
import { ModelError } from '../error.js';
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
  const { format, name, bytes } = tensor;
  if (!isGgufFormat(format))
    throw new ModelError('UNKNOWN_FORMAT', `${bytes.path}: tensor '${name}' is ${format}`);
  const file = await openFile(bytes.path);
  try {
    for (let at = 0; at < values.length; at += chunk) {
      throwIfAborted(signal);
      await decodePiece(file, tensor, format, values, at);
    }
  } finally {
    await file.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (cause) {
    throw new FileError('READ_FAILED', path, `cannot be read: ${(cause as Error).message}`, { cause });
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
    const { path, offset, byteLength: length } = part.bytes;
    const file = await openFile(path);
    try {
      await readFully(file, path, bytes.subarray(at, at + length), offset);
    } finally {
      await file.close();
    }
    at += length;
  }
  return { name, shape, format, bytes };
}

async function decodePiece(
  file: FileHandle,
  { bytes: { path, offset } }: FileTensor,
  format: GgufFormat,
  values: Float32Array,
  at: number,
): Promise<void> {
  const count = Math.min(chunk, values.length - at);
  const blocks = new Uint8Array(byteLength(format, [count]));
  const position = offset + (at === 0 ? 0 : byteLength(format, [at]));
  await readFully(file, path, blocks, position);
  decode(format, blocks, 0, values, at, count);
}

async function readFully(file: FileHandle, path: string, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0)
      throw new FileError('TRUNCATED', path, `ends at byte ${position + done}: it has shrunk`);
    done += bytesRead;
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ModelError('ABORTED', 'loading was aborted', { cause: signal.reason });
}
