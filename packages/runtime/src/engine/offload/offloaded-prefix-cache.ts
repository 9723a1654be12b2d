import type { KvCache } from '@quern/core';
import type { NoticeListener } from '../../notice.js';
import type { OffloadCounts, OffloadedBlock, PrefixBlock, PrefixHolder } from '../prefix-block.js';
import { PrefixCache } from '../prefix-cache.js';
import { BlockNames } from './block-names.js';
import { OffloadedBlocks, type OffloadPlaces } from './offloaded-blocks.js';

export interface OffloadOptions extends OffloadPlaces {
  /** See `cacheIdentity`. */
  readonly identity: string;
  readonly onNotice?: NoticeListener;
}

/** How work takes its turn among the steps of the device: see `Loop`. */
export interface DeviceTurns {
  beside<T>(work: () => Promise<T>): Promise<T>;
  wake(): void;
}

/** Calls grow without a wait: this many of the next blocks to be evicted are offloaded before. */
const blocksAhead = 8;

/**
 * Offloads known blocks to host memory and to a folder. Before a call begins, the blocks of its prefix are restored,
 * and the blocks whose place it takes are copied: both are asynchronous, so `begin` is false until they have ended.
 */
export class OffloadedPrefixCache extends PrefixCache {
  private readonly names: BlockNames;
  private readonly offloaded: OffloadedBlocks;
  private readonly prepared = new Map<PrefixHolder, 'preparing' | 'ready'>();
  private readonly restored = { memoryHits: 0, diskHits: 0 };
  private keepingAhead = false;

  constructor(
    cache: KvCache,
    private readonly options: OffloadOptions,
    private readonly turns: DeviceTurns,
  ) {
    super(cache);
    this.names = new BlockNames(options.identity);
    const isKnown = (block: PrefixBlock) => this.blocks.get(block.key) === block;
    this.offloaded = new OffloadedBlocks(cache, options, isKnown, () => turns.wake(), options.onNotice);
  }

  get counts(): OffloadCounts {
    return { ...this.restored, cacheMemoryBytes: this.options.memory?.bytes ?? 0 };
  }

  override get evictableBlocks(): number {
    const { reading } = this.offloaded;
    return this.idleBlocks - (reading && this.idle.has(reading) ? 1 : 0);
  }

  override isPreparing(holder: PrefixHolder): boolean {
    return this.prepared.get(holder) === 'preparing';
  }

  override begin(holder: PrefixHolder): boolean {
    if (!holder.reuse || this.prepared.has(holder) || this.offloaded.ended) return super.begin(holder);
    const found = this.find(holder);
    const next = this.keyAfter(found.at(-1), holder, found.length);
    if (next !== undefined && this.computing.has(next)) return false;
    const leaving = this.nextToLeave(this.blocksToTake(holder, found) + blocksAhead, found);
    if (leaving.every((block) => this.offloaded.isSafe(block)) && !this.mayBeOffloaded(holder, found))
      return super.begin(holder);
    this.prepared.set(holder, 'preparing');
    void this.prepare(holder, found, leaving);
    return false;
  }

  override learn(holder: PrefixHolder): void {
    super.learn(holder);
    if (this.cache.freeBlocks < blocksAhead && !this.keepingAhead && !this.offloaded.ended)
      void this.keepAhead();
  }

  override release(holder: PrefixHolder): void {
    super.release(holder);
    if (!this.isPreparing(holder)) this.prepared.delete(holder);
  }

  /** Resolves when the folder has all known blocks, or cannot be written. */
  save(): Promise<void> {
    return this.offloaded.save(this.blocks.values());
  }

  /** Ends all copying; files that are being written are finished. */
  close(): void {
    this.offloaded.close();
  }

  protected override mayEvict(block: PrefixBlock): boolean {
    return block !== this.offloaded.reading;
  }

  protected override leave(block: PrefixBlock, held: number | undefined): void {
    super.leave(block, held);
    if (block.users === 0) this.offloaded.saveSoon(block);
  }

  protected override offloadedOf(
    { tokens, root }: PrefixHolder,
    before: PrefixBlock | undefined,
    index: number,
  ): OffloadedBlock {
    const { blockSize } = this.cache;
    const own = tokens.slice(index * blockSize, (index + 1) * blockSize);
    const name = this.names.after(before?.offloaded?.name, root, own);
    return { name, index, onDisk: false };
  }

  /** Restores what was offloaded, after what leaves has been offloaded. A failure leaves the rest to be computed. */
  private async prepare(
    holder: PrefixHolder,
    found: readonly PrefixBlock[],
    leaving: readonly PrefixBlock[],
  ): Promise<void> {
    const chain = [...found];
    for (const block of chain) this.take(block);
    this.expect(holder, this.keyAfter(chain.at(-1), holder, chain.length));
    try {
      await this.turns.beside(async () => {
        await this.offloaded.keep(leaving);
        while (await this.restoreNext(holder, chain));
      });
    } finally {
      this.expect(holder, undefined);
      for (const block of chain.reverse()) this.leave(block, block.block);
      if (holder.released) this.prepared.delete(holder);
      else this.prepared.set(holder, 'ready');
      this.turns.wake();
    }
  }

  /** Restores the block after `chain`, and appends it. False at the end. */
  private async restoreNext(holder: PrefixHolder, chain: PrefixBlock[]): Promise<boolean> {
    const key = this.keyAfter(chain.at(-1), holder, chain.length);
    if (key === undefined || holder.released || this.offloaded.ended) return false;
    this.expect(holder, key);
    const block = this.takeKnown(key) ?? (await this.restore(key, holder, chain));
    if (block) chain.push(block);
    return block !== undefined;
  }

  private async restore(
    key: string,
    holder: PrefixHolder,
    chain: readonly PrefixBlock[],
  ): Promise<PrefixBlock | undefined> {
    const { memory, folder } = this.options;
    const wanted = this.offloadedOf(holder, chain.at(-1), chain.length);
    const kept = this.offloaded.inMemory(wanted.name);
    const values = kept?.values ?? (await folder?.read(wanted.name, wanted.index));
    const place = values && !this.offloaded.ended ? this.freePlace() : undefined;
    if (!values || place === undefined || !(await this.fill(place, values))) return undefined;
    memory?.delete(wanted.name);
    this.restored[kept ? 'memoryHits' : 'diskHits'] += this.cache.blockSize;
    const known = this.takeKnown(key); // computed by a call meanwhile
    if (known) this.cache.drop(place);
    return known ?? this.know(key, place, kept?.block ?? { ...wanted, onDisk: true });
  }

  private takeKnown(key: string): PrefixBlock | undefined {
    const known = this.blocks.get(key);
    if (known) this.take(known);
    return known;
  }

  /** A held place for a block; undefined where calls hold all. */
  private freePlace(): number | undefined {
    this.evict(1 - this.cache.freeBlocks);
    if (this.cache.freeBlocks === 0) return undefined;
    const sequence = this.cache.sequence();
    sequence.append(1);
    const [place] = sequence.blockTable;
    this.cache.hold(place!);
    sequence.release();
    return place;
  }

  /** Writes values to the device. */
  private async fill(place: number, values: Uint8Array): Promise<boolean> {
    try {
      await this.cache.writeBlocks([place], values);
      if (this.offloaded.ended) this.cache.drop(place);
      return !this.offloaded.ended;
    } catch (error) {
      this.cache.drop(place);
      this.offloaded.fail(error);
      return false;
    }
  }

  private async keepAhead(): Promise<void> {
    this.keepingAhead = true;
    await this.offloaded.keep(this.nextToLeave(blocksAhead, []));
    this.keepingAhead = false;
  }

  /** The blocks that are evicted when `count` are taken, without those of `found`. */
  private nextToLeave(count: number, found: readonly PrefixBlock[]): PrefixBlock[] {
    const leaving: PrefixBlock[] = [];
    const stays = new Set(found);
    let left = count - this.cache.freeBlocks;
    for (const block of this.idle) {
      if (left <= 0) break;
      if (stays.has(block)) continue;
      leaving.push(block);
      left--;
    }
    return leaving;
  }

  private blocksToTake({ tokens }: PrefixHolder, found: readonly PrefixBlock[]): number {
    return Math.ceil((tokens.length + 1) / this.cache.blockSize) - found.length;
  }

  private mayBeOffloaded(holder: PrefixHolder, found: readonly PrefixBlock[]): boolean {
    if (this.keyAfter(found.at(-1), holder, found.length) === undefined) return false;
    if (this.options.folder) return true;
    return this.offloaded.inMemory(this.offloadedOf(holder, found.at(-1), found.length).name) !== undefined;
  }
}
