import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { fileReason } from '@quern/core';
import { FileError } from './error.js';

/**
 * Bytes per write, at multiples of it: a huge page. What one write brings to Linux's page cache lies in pages up to its
 * size, and a mapped model is read up to a fifth faster from huge pages (docs/performance.md, "F16 decoding on AVX2").
 */
const blockBytes = 2 << 20;

/**
 * A file written from front to back. A new or regular file appears under its name only when complete; a symbolic link
 * is followed and its target replaced. A FIFO or character device is written directly. Everything else is refused.
 */
export class OutputFile {
  private readonly block = new Uint8Array(blockBytes);
  private filled = 0;

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
    for (let at = 0; at < bytes.length; ) {
      const rest = bytes.length - at;
      const whole = this.filled === 0 ? rest - (rest % blockBytes) : 0;
      if (whole > 0) await this.append(bytes.subarray(at, at + whole));
      at += whole || (await this.fill(bytes.subarray(at)));
    }
  }

  /** Copies the bytes that fit into the block, and writes a full block. Returns their count. */
  private async fill(bytes: Uint8Array): Promise<number> {
    const count = Math.min(bytes.length, blockBytes - this.filled);
    this.block.set(bytes.subarray(0, count), this.filled);
    this.filled += count;
    if (this.filled === blockBytes) await this.flush();
    return count;
  }

  private async flush(): Promise<void> {
    const bytes = this.block.subarray(0, this.filled);
    this.filled = 0;
    await this.append(bytes);
  }

  /** At the current position, with as few system calls as possible: `writeFile` writes half a mebibyte at a time. */
  private async append(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; )
      done += (await attempt(this.path, this.handle.write(bytes, done))).bytesWritten;
  }

  async finish(): Promise<void> {
    await this.flush();
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
