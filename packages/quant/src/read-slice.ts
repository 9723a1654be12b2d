import { closeSync, readSync } from 'node:fs';
import { FileError } from './error.js';
import { asFileError, openRegularFileSync } from './open-regular-file.js';

/** Bytes of a file, read on the calling thread. @throws FileError NOT_FOUND, NOT_A_FILE, READ_FAILED or TRUNCATED. */
export function readSlice(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const { file } = openRegularFileSync(path);
  try {
    for (let done = 0; done < length; ) {
      const read = readSync(file, bytes, done, length - done, offset + done);
      if (read === 0)
        throw new FileError(
          'TRUNCATED',
          path,
          `ends at byte ${offset + done}: it has shrunk since it was opened`,
        );
      done += read;
    }
    return bytes;
  } catch (error) {
    throw asFileError(path, error);
  } finally {
    closeSync(file);
  }
}
