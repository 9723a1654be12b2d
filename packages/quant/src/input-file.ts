import { type FileHandle, open, stat } from 'node:fs/promises';
import { FileError } from './error.js';

/** A regular file open for reading. */
export class InputFile {
  private constructor(
    readonly path: string,
    /** Bytes, when it was opened. */
    readonly size: number,
    private readonly handle: FileHandle,
  ) {}

  /** @throws FileError NOT_FOUND, NOT_A_FILE or READ_FAILED. */
  static async open(path: string): Promise<InputFile> {
    try {
      const status = await stat(path); // before open, which would wait for a writer on a pipe
      if (!status.isFile()) {
        throw new FileError(
          'NOT_A_FILE',
          path,
          `is ${status.isDirectory() ? 'a directory' : 'not a regular file'}`,
        );
      }
      return new InputFile(path, status.size, await open(path, 'r'));
    } catch (error) {
      throw asFileError(path, error);
    }
  }

  /** Fills `into` with the bytes from `position`. @throws FileError TRUNCATED where the file has shrunk, or READ_FAILED. */
  async read(position: number, into: Uint8Array): Promise<void> {
    let done = 0;
    while (done < into.length) {
      const { bytesRead } = await this.handle
        .read(into, done, into.length - done, position + done)
        .catch((error: unknown) => {
          throw asFileError(this.path, error);
        });
      if (bytesRead === 0) {
        throw new FileError(
          'TRUNCATED',
          this.path,
          `ends at byte ${position + done}; it had ${this.size} bytes when opened`,
        );
      }
      done += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

function asFileError(path: string, error: unknown): FileError {
  if (error instanceof FileError) return error;
  const cause = error as NodeJS.ErrnoException;
  if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') {
    return new FileError('NOT_FOUND', path, 'there is no such file', { cause });
  }
  return new FileError('READ_FAILED', path, `cannot be read (${cause.code ?? cause.message})`, { cause });
}
