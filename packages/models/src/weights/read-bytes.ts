import { type FileHandle, open } from 'node:fs/promises';
import { FileError } from '@quern/quant';
import type { FileTensor } from './weight-file.js';

/** @throws FileError READ_FAILED. */
export async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (cause) {
    throw new FileError('READ_FAILED', path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Fills `into` with the bytes from `position`. @throws FileError TRUNCATED. */
export async function readAt(
  file: FileHandle,
  path: string,
  position: number,
  into: Uint8Array,
): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead === 0)
      throw new FileError('TRUNCATED', path, `ends at byte ${position + done}: it has shrunk`);
    done += bytesRead;
  }
}

/** All bytes of a tensor. @throws FileError READ_FAILED or TRUNCATED. */
export async function readTensor({ bytes: { path, offset, byteLength } }: FileTensor): Promise<Uint8Array> {
  const file = await openFile(path);
  try {
    const bytes = new Uint8Array(byteLength);
    await readAt(file, path, offset, bytes);
    return bytes;
  } finally {
    await file.close();
  }
}
