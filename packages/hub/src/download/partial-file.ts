import type { Hash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { cacheFault, inCache } from '../cache/cache-fault.js';

const readBytes = 2 ** 20;

/** The file of a blob that is not whole yet. Every byte up to its end is right, or its hash will say so. */
export class PartialFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    /** Bytes at hand. */
    public size: number,
  ) {}

  /** @throws HubError CACHE_FAILED, NO_SPACE */
  static async open(path: string): Promise<PartialFile> {
    return inCache(path, async () => {
      const handle = await open(path, 'a+');
      return new PartialFile(path, handle, (await handle.stat()).size);
    });
  }

  /** Hashes what is there: a resumed file is read again. */
  async hashInto(hash: Hash, onBytes: () => void): Promise<void> {
    const buffer = Buffer.allocUnsafe(readBytes);
    for (let at = 0; at < this.size; ) {
      const { bytesRead } = await inCache(this.path, () => this.handle.read(buffer, 0, readBytes, at));
      if (bytesRead === 0) throw cacheFault(new Error('it became shorter while it was read'), this.path);
      hash.update(buffer.subarray(0, Math.min(bytesRead, this.size - at)));
      at += bytesRead;
      onBytes();
    }
  }

  async append(chunk: Buffer): Promise<void> {
    await inCache(this.path, async () => {
      for (let done = 0; done < chunk.length; )
        done += (await this.handle.write(chunk, done, chunk.length - done)).bytesWritten;
    });
    this.size += chunk.length;
  }

  async empty(): Promise<void> {
    await inCache(this.path, () => this.handle.truncate(0));
    this.size = 0;
  }

  /** The bytes are on the disk after this: a name may point to them. */
  async sync(): Promise<void> {
    await inCache(this.path, () => this.handle.datasync());
  }

  async remove(): Promise<void> {
    await this.handle.close();
    await rm(this.path, { force: true });
  }

  /** Closing twice is harmless. */
  async close(): Promise<void> {
    await this.handle.close().catch(() => {});
  }
}
