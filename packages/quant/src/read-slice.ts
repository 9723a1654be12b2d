import { closeSync, openSync, readSync } from 'node:fs';
import { FileError } from './error.js';

/** Bytes of a file, read on the thread that calls it. @throws FileError READ_FAILED or TRUNCATED. */
export function readSlice(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const file = attempt(path, () => openSync(path, 'r'));
  try {
    for (let done = 0; done < length; ) {
      const read = attempt(path, () => readSync(file, bytes, done, length - done, offset + done));
      if (read === 0)
        throw new FileError(
          'TRUNCATED',
          path,
          `ends at byte ${offset + done}: it has shrunk since it was opened`,
        );
      done += read;
    }
  } finally {
    closeSync(file);
  }
  return bytes;
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    throw new FileError('READ_FAILED', path, `cannot be read (${reason})`, { cause });
  }
}
