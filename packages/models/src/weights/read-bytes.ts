import { open } from 'node:fs/promises';
import type { WeightBytes } from '@quern/core';
import { FileError } from '@quern/quant';

/** The bytes of a slice of a file. @throws FileError READ_FAILED or TRUNCATED. */
export async function readBytes({
  path,
  offset,
  byteLength,
}: Exclude<WeightBytes, Uint8Array>): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteLength);
  const file = await open(path, 'r').catch((cause) => {
    throw new FileError('READ_FAILED', path, `cannot be read: ${cause.message}`, { cause });
  });
  try {
    for (let done = 0; done < byteLength; ) {
      const { bytesRead } = await file.read(bytes, done, byteLength - done, offset + done);
      if (bytesRead === 0)
        throw new FileError('TRUNCATED', path, `ends at byte ${offset + done}: it has shrunk`);
      done += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}
