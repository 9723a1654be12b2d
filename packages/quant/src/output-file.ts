import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { FileError } from './error.js';

/** A file written from front to back, which appears under its name only once it is complete. */
export class OutputFile {
  private constructor(
    readonly path: string,
    private readonly partial: string,
    private readonly handle: FileHandle,
  ) {}

  /** @throws FileError WRITE_FAILED, as the other methods. */
  static async create(path: string): Promise<OutputFile> {
    const partial = `${path}.partial`;
    return new OutputFile(path, partial, await attempt(path, open(partial, 'w')));
  }

  async write(bytes: Uint8Array): Promise<void> {
    await attempt(this.path, this.handle.writeFile(bytes)); // writes on from the current position
  }

  async finish(): Promise<void> {
    await attempt(this.path, this.handle.close());
    await attempt(this.path, rename(this.partial, this.path));
  }

  /** Removes what has been written. */
  async abandon(): Promise<void> {
    await this.handle.close();
    await rm(this.partial, { force: true });
  }
}

async function attempt<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new FileError('WRITE_FAILED', path, `cannot be written (${reason})`, { cause: error });
  }
}
