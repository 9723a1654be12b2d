import type { FileSlice } from '@quern/core';
import { InputFile } from '@quern/quant';

/** The bytes of a slice of a file. @throws FileError NOT_FOUND, NOT_A_FILE, READ_FAILED or TRUNCATED. */
export async function readBytes({ path, offset, byteLength }: FileSlice): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteLength);
  const file = await InputFile.open(path);
  try {
    await file.read(offset, bytes);
    return bytes;
  } finally {
    await file.close();
  }
}
