import { type FileHandle, open } from 'node:fs/promises';
import { elementCount, type WeightSource } from '@quern/core';
import { byteLength, decode, FileError, type GgufFormat, isGgufFormat } from '@quern/quant';
import { ModelError } from '../error.js';
import type { FileTensor } from './weight-file.js';

/** Elements decoded between two turns of the event loop: a few milliseconds. A whole number of blocks of any format. */
const chunk = 2 ** 18;

/**
 * A tensor's values as f32 in memory, decoded piece by piece so that the event loop goes on.
 * @throws ModelError UNKNOWN_FORMAT or ABORTED; FileError READ_FAILED or TRUNCATED.
 */
export async function decodeToF32(
  tensor: FileTensor,
  signal?: AbortSignal,
): Promise<Float32Array<ArrayBuffer>> {
  const { format, name, bytes } = tensor;
  if (!isGgufFormat(format))
    throw new ModelError('UNKNOWN_FORMAT', `${bytes.path}: tensor '${name}' is ${format}`);
  const values = new Float32Array(elementCount(tensor.shape));
  const file = await openFile(bytes.path);
  try {
    for (let at = 0; at < values.length; at += chunk) {
      throwIfAborted(signal);
      await decodePiece(file, tensor, format, values, at);
    }
  } finally {
    await file.close();
  }
  return values;
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (cause) {
    throw new FileError('READ_FAILED', path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** The same as a WeightSource. */
export async function decodedSource(tensor: FileTensor, signal?: AbortSignal): Promise<WeightSource> {
  const values = await decodeToF32(tensor, signal);
  return { name: tensor.name, shape: tensor.shape, format: 'f32', bytes: new Uint8Array(values.buffer) };
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
  for (let done = 0; done < blocks.length; ) {
    const { bytesRead } = await file.read(blocks, done, blocks.length - done, position + done);
    if (bytesRead === 0)
      throw new FileError('TRUNCATED', path, `ends at byte ${position + done}: it has shrunk`);
    done += bytesRead;
  }
  decode(format, blocks, 0, values, at, count);
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ModelError('ABORTED', 'loading was aborted', { cause: signal.reason });
}
