import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder } from '@quern/core';
import { codeOf, messageOf, RuntimeError } from '../../error.js';
import { giveNotice, type NoticeListener } from '../../notice.js';
import { type BlockForm, decodeBlock, encodeBlock, fileBytes } from './block-file.js';
import { FolderSize } from './folder-size.js';

export interface BlockFolderOptions {
  readonly path: string;
  /** Bound of all blocks in the folder, also those of other models. */
  readonly mostBytes: number;
  readonly form: BlockForm;
  readonly onNotice: NoticeListener;
}

/**
 * Blocks in a folder, one file each: a prefix that several texts share is stored once, and may be used in part.
 * Processes may share the folder: a file appears whole, by a rename. Power loss may damage a file; its checksum tells.
 */
export class BlockFolder {
  private readonly size: FolderSize;
  /** Files that cannot be used; `write` replaces them. */
  private readonly unusable = new Set<string>();
  private toldUnusable = false;
  /** Whether writing has failed. Nothing is written any more. */
  failed = false;

  private constructor(private readonly options: BlockFolderOptions) {
    this.size = new FolderSize(options.path, options.mostBytes);
  }

  /** Makes the folder where it is missing. @throws RuntimeError BAD_OPTION */
  static async open(options: BlockFolderOptions): Promise<BlockFolder> {
    needRoom(options);
    const folder = new BlockFolder(options);
    try {
      await makeFolder(options.path);
      await folder.size.measure();
    } catch (cause) {
      throw new RuntimeError(
        'BAD_OPTION',
        `cacheDir is '${options.path}', but the folder ${resolve(options.path)} cannot be made or read (${messageOf(cause)}): choose a folder that this process may write to`,
        { cause },
      );
    }
    return folder;
  }

  /** The values of a block; undefined where there is no usable file. @param index place in its chain */
  async read(name: string, index: number): Promise<Uint8Array | undefined> {
    if (this.unusable.has(name)) return undefined;
    try {
      const bytes = await this.readFile(name);
      const values = typeof bytes === 'string' ? bytes : await decodeBlock(this.options.form, name, bytes);
      if (typeof values === 'string') return this.skip(name, values);
      await this.touch(this.pathOf(name), index).catch(() => {}); // a folder that is only readable
      return values;
    } catch (error) {
      return codeOf(error) === 'ENOENT' ? undefined : this.skip(name, messageOf(error));
    }
  }

  /** Writes a block, also over a file that is there: it may be damaged. A failure gives a notice and ends all writing. */
  async write(name: string, index: number, values: Uint8Array): Promise<void> {
    if (this.failed) return;
    const { form, path } = this.options;
    const temporary = join(path, `${name}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`);
    try {
      const bytes = await encodeBlock(form, name, values);
      await this.size.makeRoom(bytes.length);
      await fs.writeFile(temporary, bytes, { flag: 'wx' });
      await this.touch(temporary, index);
      await fs.rename(temporary, this.pathOf(name));
      this.unusable.delete(name);
    } catch (error) {
      await fs.rm(temporary, { force: true }).catch(() => {});
      this.fail(error);
    }
  }

  /** The bytes, or why the file cannot be used. A file of a wrong size is not read. */
  private async readFile(name: string): Promise<Uint8Array | string> {
    const file = await fs.open(this.pathOf(name));
    try {
      const { size } = await file.stat();
      const wanted = fileBytes(this.options.form);
      return size === wanted ? await file.readFile() : `it has ${size} bytes instead of ${wanted}`;
    } finally {
      await file.close();
    }
  }

  /** The last blocks of a prefix are the oldest, so that they are deleted first: a prefix is used from its first block on. */
  private touch(path: string, index: number): Promise<void> {
    const time = (Date.now() - index) / 1000;
    return fs.utimes(path, time, time);
  }

  private pathOf(name: string): string {
    return join(this.options.path, `${name}.kv`);
  }

  private skip(name: string, why: string): undefined {
    this.unusable.add(name);
    if (this.toldUnusable) return;
    this.toldUnusable = true;
    giveNotice(
      this.options.onNotice,
      `the cached block ${this.pathOf(name)} is not used: ${why}. It is computed again and replaced; further such files are not reported`,
    );
  }

  private fail(error: unknown): void {
    if (this.failed) return;
    this.failed = true;
    giveNotice(
      this.options.onNotice,
      `the cache folder ${resolve(this.options.path)} cannot be written (${messageOf(error)}): nothing more is stored there until the model is loaded again; blocks in it are still read. Free space, lower cacheDirBytes, or choose another cacheDir`,
    );
  }
}

function needRoom({ form, mostBytes }: BlockFolderOptions): void {
  const one = fileBytes(form);
  if (mostBytes < one)
    throw new RuntimeError(
      'BAD_OPTION',
      `cacheDirBytes is ${mostBytes}, but one block of this model takes ${one} bytes: give more, or leave out cacheDir`,
    );
}
