import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { fileReason } from '@quern/core';
import { FileError } from './error.js';

/**
 * A file written from front to back. A new or regular file appears under its name only when complete; a symbolic link
 * is followed and its target replaced. A FIFO or character device is written directly. Everything else is refused.
 */
export class OutputFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    /** The temporary file and its final name; undefined if written directly. */
    private readonly replacing: { readonly partial: string; readonly target: string } | undefined,
  ) {}

  /** @throws FileError WRITE_FAILED, as the other methods; NOT_A_FILE. */
  static async create(path: string): Promise<OutputFile> {
    const there = await statusOf(path);
    if (there && isStream(there))
      return new OutputFile(path, await attempt(path, open(path, 'w')), undefined);
    if (there && !there.isFile())
      throw new FileError('NOT_A_FILE', path, 'is neither a regular file, a FIFO nor a device');
    const target = there ? await attempt(path, realpath(path)) : path;
    const partial = `${target}.partial`;
    return new OutputFile(path, await attempt(path, open(partial, 'w')), { partial, target });
  }

  async write(bytes: Uint8Array): Promise<void> {
    await attempt(this.path, this.handle.writeFile(bytes)); // appends at the current position
  }

  async finish(): Promise<void> {
    await attempt(this.path, this.handle.close());
    if (this.replacing) await attempt(this.path, rename(this.replacing.partial, this.replacing.target));
  }

  /** Removes the written file. Bytes in a FIFO or device cannot be taken back. */
  async abandon(): Promise<void> {
    await this.handle.close();
    if (this.replacing) await rm(this.replacing.partial, { force: true });
  }
}

const isStream = (status: Stats): boolean => status.isFIFO() || status.isCharacterDevice();

/** Undefined if nothing is there. @throws FileError NOT_A_FILE for a broken link */
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
    throw new FileError('WRITE_FAILED', path, `cannot be written: ${fileReason(error)}`, { cause: error });
  }
}
