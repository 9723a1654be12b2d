import fs from 'node:fs/promises';
import { join } from 'node:path';

/** After a deletion the folder holds at most this share of its bound, so that not every write deletes. */
const keptShare = 0.9;
/** The files are counted again after this share of the bound was written: other processes write too. */
const countedShare = 0.05;
/** Temporary files of this age belong to processes that ended while they wrote. */
const leftOverMs = 60 * 60 * 1000;

const isBlock = (file: string): boolean => /^[0-9a-f]{64}\.kv$/.test(file);
const isTemporary = (file: string): boolean => /^[0-9a-f]{64}\.\d+-[0-9a-f]{8}\.tmp$/.test(file);

interface StoredFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Bounds the bytes of all blocks in a folder. The least recently used files are deleted; other files are left alone. */
export class FolderSize {
  private bytes = 0;
  private written = 0;

  constructor(
    private readonly folder: string,
    private readonly mostBytes: number,
  ) {}

  /** Counts the bytes; deletes blocks over the bound and temporary files of ended processes. */
  async measure(): Promise<void> {
    await this.trim(0);
    const old = Date.now() - leftOverMs;
    for (const { path, mtimeMs } of await this.files(isTemporary))
      if (mtimeMs < old) await fs.rm(path, { force: true });
  }

  /** Makes room for a file of `size` bytes, and counts it. */
  async makeRoom(size: number): Promise<void> {
    const isUncertain = this.written > countedShare * this.mostBytes;
    if (isUncertain || this.bytes + size > this.mostBytes) await this.trim(size);
    this.bytes += size;
    this.written += size;
  }

  /** Counts, and deletes where the blocks and `more` bytes exceed the bound. */
  private async trim(more: number): Promise<void> {
    const files = await this.files(isBlock);
    this.written = 0;
    this.bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (this.bytes + more <= this.mostBytes) return;
    for (const { path, size } of files.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
      if (this.bytes + more <= keptShare * this.mostBytes || this.bytes === 0) return;
      await fs.rm(path, { force: true });
      this.bytes -= size;
    }
  }

  private async files(isWanted: (name: string) => boolean): Promise<StoredFile[]> {
    const files: StoredFile[] = [];
    for (const name of await fs.readdir(this.folder)) {
      const path = join(this.folder, name);
      const found = isWanted(name) ? await fs.stat(path).catch(() => undefined) : undefined; // deleted meanwhile
      if (found?.isFile()) files.push({ path, size: found.size, mtimeMs: found.mtimeMs });
    }
    return files;
  }
}
