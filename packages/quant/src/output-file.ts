import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { FileError } from './error.js';

/**
 * A file written from front to back. A new or a regular file appears under its name only once it is complete; a symbolic link is
 * followed, and what it names is replaced. A FIFO or a character device is written to as it is. All else is refused.
 */
export class OutputFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    /** Where it is written until it is complete, and what it then becomes; absent where it is written in place. */
    private readonly replacing: { readonly partial: string; readonly target: string } | undefined,
  ) {}

  /** @throws FileError WRITE_FAILED, as the other methods; NOT_A_FILE. */
  static async create(path: string): Promise<OutputFile> {
    const there = await statusOf(path);
    if (there && isStream(there))
      return new OutputFile(path, await attempt(path, open(path, 'w')), undefined);
    if (there && !there.isFile()) throw new FileError('NOT_A_FILE', path, 'is no file that could be written');
    const target = there ? await attempt(path, realpath(path)) : path;
    const partial = `${target}.partial`;
    return new OutputFile(path, await attempt(path, open(partial, 'w')), { partial, target });
  }

  async write(bytes: Uint8Array): Promise<void> {
    await attempt(this.path, this.handle.writeFile(bytes)); // writes on from the current position
  }

  async finish(): Promise<void> {
    await attempt(this.path, this.handle.close());
    if (this.replacing) await attempt(this.path, rename(this.replacing.partial, this.replacing.target));
  }

  /** Removes what has been written; what went into a FIFO or a device is gone. */
  async abandon(): Promise<void> {
    await this.handle.close();
    if (this.replacing) await rm(this.replacing.partial, { force: true });
  }
}

const isStream = (status: Stats): boolean => status.isFIFO() || status.isCharacterDevice();

/** Undefined where there is nothing. @throws FileError NOT_A_FILE for a link to nothing */
async function statusOf(path: string): Promise<Stats | undefined> {
  const isAbsent = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  };
  const found = await attempt(path, stat(path).catch(isAbsent));
  if (found || !(await attempt(path, lstat(path).catch(isAbsent)))) return found;
  throw new FileError('NOT_A_FILE', path, 'is a symbolic link to nothing: name the file itself');
}

async function attempt<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new FileError('WRITE_FAILED', path, `cannot be written (${reason})`, { cause: error });
  }
}
