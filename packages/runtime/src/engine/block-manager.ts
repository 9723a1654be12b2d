import type { KvCache } from '@quern/core';
import type { AdapterUse } from './adapter-use.js';
import { Lease } from './lease.js';
import {
  type DeviceTurns,
  OffloadedPrefixCache,
  type OffloadOptions,
} from './offload/offloaded-prefix-cache.js';
import type { OffloadCounts } from './prefix-block.js';
import { PrefixCache } from './prefix-cache.js';

export interface LeaseOptions {
  /** Higher first; default 0. */
  readonly priority?: number | undefined;
  /** Share equal prefixes with other calls; default true. */
  readonly reuse?: boolean | undefined;
  /** As `GenerateOptions.maxWaitMs`. */
  readonly maxWaitMs?: number | undefined;
  /** Default: none. */
  readonly adapters?: readonly AdapterUse[] | undefined;
  /** As `GenerateOptions.group`. */
  readonly group?: string | undefined;
}

const nothingOffloaded: OffloadCounts = { memoryHits: 0, diskHits: 0, cacheMemoryBytes: 0 };

/**
 * Shares the blocks of a cache between calls. A call takes blocks as it grows. Where blocks are short, those of ended
 * calls are evicted, then the last call of the lowest priority gives up all its blocks (preemption).
 */
export class BlockManager {
  /** Calls with blocks. */
  readonly holders = new Set<Lease>();
  preemptions = 0;
  private readonly prefixes: PrefixCache;
  /** `prefixes`, where evicted blocks are kept. */
  private readonly offloaded: OffloadedPrefixCache | undefined;
  private calls = 0;
  /** Calls that belong to a group. */
  private grouped = 0;

  /** @param offload where evicted blocks are kept */
  constructor(
    private readonly cache: KvCache,
    offload?: { readonly options: OffloadOptions; readonly turns: DeviceTurns },
  ) {
    this.offloaded = offload && new OffloadedPrefixCache(cache, offload.options, offload.turns);
    this.prefixes = this.offloaded ?? new PrefixCache(cache);
  }

  get blockSize(): number {
    return this.cache.blockSize;
  }

  get blocks(): number {
    return this.cache.blocks;
  }

  /** Blocks of no call: free, or with known tokens. */
  get freeBlocks(): number {
    return this.cache.freeBlocks + this.prefixes.idleBlocks;
  }

  /** Blocks of no call with known tokens. */
  get idleBlocks(): number {
    return this.prefixes.idleBlocks;
  }

  get offloadCounts(): OffloadCounts {
    return this.offloaded?.counts ?? nothingOffloaded;
  }

  /** Resolves when the folder of offloaded blocks, if any, has all known blocks. */
  async save(): Promise<void> {
    await this.offloaded?.save();
  }

  /** Ends offloading. */
  dispose(): void {
    this.offloaded?.close();
  }

  /** A place in the queue, without blocks. */
  lease({ priority = 0, reuse = true, maxWaitMs, adapters = [], group }: LeaseOptions = {}): Lease {
    const sequence = this.cache.sequence();
    if (group !== undefined) this.grouped++;
    return new Lease(sequence, priority, this.calls++, reuse, maxWaitMs, adapters, group, this.prefixes);
  }

  /** Whether calls of groups are under way. */
  get hasGroups(): boolean {
    return this.grouped > 0;
  }

  /**
   * Gives a lease its first blocks, if there is room for all its tokens and the next one; each running call that does not
   * make way for it may need a block meanwhile. 'later': another call computes the same prefix now, or it is being restored.
   */
  begin(lease: Lease): 'started' | 'full' | 'later' {
    if (this.prefixes.isPreparing(lease)) return 'later';
    if (!this.hasRoomFor(lease)) return 'full';
    if (!this.prefixes.begin(lease)) return 'later';
    lease.started = true;
    lease.computed = lease.sequence.length;
    this.holders.add(lease);
    return 'started';
  }

  /** Makes room for `count` more tokens in the sequence; false where blocks are short. */
  grow(lease: Lease, count: number): boolean {
    const blocks = lease.sequence.blocksFor(count);
    this.prefixes.evict(blocks - this.cache.freeBlocks);
    if (blocks > this.cache.freeBlocks) return false;
    lease.sequence.append(count);
    return true;
  }

  /** As `grow`; calls after `lease` that are in no step give up their blocks for it. */
  growBefore(lease: Lease, count: number): boolean {
    while (!this.grow(lease, count)) if (!this.preemptAfter((holder) => holder.yieldsTo(lease))) return false;
    return true;
  }

  /** Preempts the last call of the lowest priority among those that `yields` names and no step computes. */
  preemptAfter(yields: (holder: Lease) => boolean): boolean {
    let last: Lease | undefined;
    for (const holder of this.holders)
      if (holder.busy === 0 && yields(holder) && (!last || holder.yieldsTo(last))) last = holder;
    if (last) this.preempt(last);
    return last !== undefined;
  }

  /** Takes the blocks of a call. It starts again when there is room. */
  preempt(lease: Lease): void {
    this.preemptions++;
    this.takeBack(lease);
    lease.sequence = this.cache.sequence();
    lease.preempted();
  }

  learn(lease: Lease): void {
    this.prefixes.learn(lease);
  }

  /** Ends a lease. Releasing twice is harmless. */
  release(lease: Lease): void {
    if (lease.released) return;
    lease.released = true;
    if (lease.group !== undefined) this.grouped--;
    this.takeBack(lease);
  }

  private takeBack(lease: Lease): void {
    this.holders.delete(lease);
    lease.started = false;
    this.prefixes.release(lease);
  }

  private hasRoomFor(lease: Lease): boolean {
    const { blockSize, blocks } = this.cache;
    const wanted = Math.ceil((lease.tokens.length + 1) / blockSize) + this.growingBefore(lease);
    return Math.min(wanted, blocks) <= this.cache.freeBlocks + this.prefixes.evictableBlocks;
  }

  /** Number of holders that do not make way for a call, and may take one more block. */
  private growingBefore(lease: Lease): number {
    let count = 0;
    for (const holder of this.holders)
      if (!holder.makesWayFor(lease) && holder.sequence.blockTable.length < this.cache.maxBlocks) count++;
    return count;
  }
}
