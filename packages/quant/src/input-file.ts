import type { FileHandle } from 'node:fs/promises';
import { FileError } from './error.js';
import { asFileError, openRegularFile } from './open-regular-file.js';

/** A regular file open for reading. */
export class InputFile {
  private constructor(
    readonly path: string,
    /** Bytes at the time of opening. */
    readonly size: number,
    private readonly handle: FileHandle,
  ) {}

  /** @throws FileError NOT_FOUND, NOT_A_FILE or READ_FAILED. */
  static async open(path: string): Promise<InputFile> {
    const { file, size } = await openRegularFile(path);
    return new InputFile(path, size, file);
  }

  /**
   * Fills `into` with the bytes from `position` on. @throws FileError TRUNCATED if the file has shrunk, or READ_FAILED.
   */
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
