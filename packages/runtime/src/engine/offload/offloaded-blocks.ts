import type { KvCache } from '@quern/core';
import { messageOf } from '../../error.js';
import { giveNotice, type NoticeListener } from '../../notice.js';
import type { OffloadedBlock, PrefixBlock } from '../prefix-block.js';
import type { BlockFolder } from './block-folder.js';
import type { KeptBlock, MemoryBlocks } from './memory-blocks.js';

/** Where blocks are kept; one at least. */
export interface OffloadPlaces {
  readonly memory?: MemoryBlocks | undefined;
  readonly folder?: BlockFolder | undefined;
}

/** Most bytes that wait to be written. A slow disk must not hold up calls: what exceeds this is not stored. */
const mostPending = 128 << 20;

/**
 * Copies known blocks from the device, one at a time. Memory: a block is copied shortly before its eviction, since a
 * copy of what the device still has is of no use. Folder: as soon as no call uses the block, since the process may end at any
 * time and `dispose` cannot wait.
 */
export class OffloadedBlocks {
  /** The block that is being read: it may not be evicted. */
  reading: PrefixBlock | undefined;
  private turn: Promise<unknown> = Promise.resolve();
  private readonly unsaved = new Set<PrefixBlock>();
  private saving: Promise<void> | undefined;
  private writing: Promise<void> = Promise.resolve();
  /** Values that wait to be written, by name. */
  private readonly pending = new Map<string, KeptBlock>();
  private pendingBytes = 0;
  /** Whether copying has ended: closed, or after a failure. */
  ended = false;

  /**
   * @param isKnown whether a block has not been evicted
   * @param onRead called after each read: a block may be evicted again
   */
  constructor(
    private readonly cache: KvCache,
    private readonly places: OffloadPlaces,
    private readonly isKnown: (block: PrefixBlock) => boolean,
    private readonly onRead: () => void,
    private readonly onNotice: NoticeListener,
  ) {}

  /** Whether the eviction of a block loses nothing that could be kept. */
  isSafe(block: PrefixBlock): boolean {
    const { memory } = this.places;
    if (this.ended || !block.offloaded) return true;
    return (!memory || memory.has(block.offloaded.name)) && !this.isUnsaved(block);
  }

  /** Copies blocks that will be evicted, in this order. Waits for the device, not for the disk. */
  async keep(blocks: readonly PrefixBlock[]): Promise<void> {
    for (const block of blocks) {
      const values = this.isSafe(block) ? undefined : await this.read(block);
      if (!values || this.ended) continue;
      this.places.memory?.put({ block: block.offloaded!, values });
      if (this.isUnsaved(block)) void this.write(block.offloaded!, values);
    }
  }

  /** A copy in host memory. */
  inMemory(name: string): KeptBlock | undefined {
    return this.places.memory?.get(name) ?? this.pending.get(name);
  }

  /** A block that no call uses any more. */
  saveSoon(block: PrefixBlock): void {
    if (this.ended || !this.isUnsaved(block)) return;
    this.unsaved.add(block);
    this.saving ??= this.saveAll();
  }

  /** Resolves when the folder has all of these blocks, or cannot be written. */
  async save(blocks: Iterable<PrefixBlock>): Promise<void> {
    await this.writing; // while many bytes are pending, blocks are skipped
    for (const block of blocks) this.saveSoon(block);
    await this.saving;
    await this.writing;
  }

  /** No block is read any more. Files that are being written are finished. */
  close(): void {
    this.ended = true;
    this.unsaved.clear();
  }

  /** Whether the folder lacks a block and can take it. */
  private isUnsaved({ offloaded }: PrefixBlock): boolean {
    const { folder } = this.places;
    if (!folder || folder.failed || this.pendingBytes >= mostPending) return false;
    return offloaded?.onDisk === false;
  }

  private async saveAll(): Promise<void> {
    for (const block of this.unsaved) {
      this.unsaved.delete(block);
      const values = block.offloaded!.onDisk ? undefined : await this.read(block);
      if (values) await this.write(block.offloaded!, values);
    }
    this.saving = undefined;
  }

  /** Writes a block after those that wait. */
  private write(block: OffloadedBlock, values: Uint8Array): Promise<void> {
    const { name, index } = block;
    block.onDisk = true;
    this.pending.set(name, { block, values });
    this.pendingBytes += values.length;
    this.writing = this.writing.then(async () => {
      await this.places.folder?.write(name, index, values);
      this.pending.delete(name);
      this.pendingBytes -= values.length;
    });
    return this.writing;
  }

  /** The values of a block; undefined if it has been evicted or cannot be read. */
  private read(block: PrefixBlock): Promise<Uint8Array | undefined> {
    const reading = this.turn.then(() => this.readNow(block));
    this.turn = reading;
    return reading;
  }

  private async readNow(block: PrefixBlock): Promise<Uint8Array | undefined> {
    if (this.ended || !this.isKnown(block)) return undefined;
    this.reading = block;
    try {
      return await this.cache.readBlocks([block.block]);
    } catch (error) {
      this.fail(error);
      return undefined;
    } finally {
      this.reading = undefined;
      this.onRead();
    }
  }

  /** The device failed to read or write a block: nothing is copied or restored any more. */
  fail(error: unknown): void {
    if (this.ended) return; // the cache has been disposed
    this.close();
    giveNotice(
      this.onNotice,
      `a block of the cache cannot be copied (${messageOf(error)}): cacheMemory and cacheDir are not used any more; load the model again to use them`,
    );
  }
}
