import type { KvCache } from '@quern/core';
import {
  type DeviceTurns,
  OffloadedPrefixCache,
  type OffloadOptions,
} from './offload/offloaded-prefix-cache.js';
import type { OffloadCounts } from './prefix-block.js';
import { PrefixCache } from './prefix-cache.js';
import { Sequence, type SequenceOptions } from './sequence.js';

const nothingOffloaded: OffloadCounts = { memoryHits: 0, diskHits: 0, cacheMemoryBytes: 0 };

/**
 * Shares the blocks of a cache between sequences. A sequence takes blocks as it grows. Where blocks are short, those of
 * ended sequences are evicted, then the last sequence of the lowest priority gives up all its blocks (preemption).
 */
export class BlockManager {
  /** Sequences with blocks. */
  readonly holders = new Set<Sequence>();
  preemptions = 0;
  private readonly prefixes: PrefixCache;
  /** `prefixes`, where evicted blocks are kept. */
  private readonly offloaded: OffloadedPrefixCache | undefined;
  private sequences = 0;
  /** Sequences that belong to a group. */
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

  /** Whether sequences have states of fixed size: they can go back only to those that they keep. */
  get hasStates(): boolean {
    return this.cache.hasStates;
  }

  /** Most tokens of a sequence. */
  get capacity(): number {
    return this.cache.maxBlocks * this.cache.blockSize;
  }

  /** Blocks of no sequence: free, or with known tokens. */
  get freeBlocks(): number {
    return this.cache.freeBlocks + this.prefixes.idleBlocks;
  }

  /** Blocks of no sequence with known tokens. */
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

  /** A sequence without blocks. */
  sequence(options: SequenceOptions = {}): Sequence {
    if (options.group !== undefined) this.grouped++;
    return new Sequence(this.cache.sequence(), this.sequences++, this.prefixes, options);
  }

  /** Whether sequences of groups are under way. */
  get hasGroups(): boolean {
    return this.grouped > 0;
  }

  /**
   * Gives a sequence its first blocks, if there is room for all its tokens and the next one; each running sequence that does not
   * make way for it may need a block meanwhile. 'later': another sequence computes the same prefix now, or it is being restored.
   */
  begin(sequence: Sequence): 'started' | 'full' | 'later' {
    if (this.prefixes.isPreparing(sequence)) return 'later';
    if (!this.hasRoomFor(sequence)) return 'full';
    if (!this.prefixes.begin(sequence)) return 'later';
    sequence.started = true;
    sequence.computed = sequence.kv.length;
    if (sequence.startedAt === 0) sequence.cachedTokens = sequence.kv.length;
    this.holders.add(sequence);
    return 'started';
  }

  /**
   * Makes room for `count` more tokens in the sequence; false where blocks or states are short.
   * @param keepState as in `KvSequence.append`
   */
  grow(sequence: Sequence, count: number, keepState = false): boolean {
    const blocks = sequence.kv.blocksFor(count);
    if (blocks > this.cache.freeBlocks + this.prefixes.evictableBlocks) return false; // evicts nothing in vain
    this.prefixes.evict(blocks - this.cache.freeBlocks);
    if (blocks > this.cache.freeBlocks) return false;
    if (!this.findState(sequence, keepState)) return false;
    sequence.kv.append(count, keepState);
    return true;
  }

  /** Whether the next step of a sequence has a state to write; one that may be kept costs the least recently used prefix its state. */
  private findState(sequence: Sequence, keepState: boolean): boolean {
    if (!this.cache.hasStates) return true;
    const { kv } = sequence;
    const wanted = keepState ? 1 : kv.statesNeeded;
    if (wanted <= this.cache.freeStates || this.prefixes.evictState()) return true;
    return kv.statesNeeded === 0 || this.prefixes.yieldState(sequence);
  }

  /** As `grow`; sequences after `sequence` that are in no step give up their blocks for it. */
  growBefore(sequence: Sequence, count: number, keepState = false): boolean {
    while (!this.grow(sequence, count, keepState))
      if (!this.preemptAfter((holder) => holder.yieldsTo(sequence))) return false;
    return true;
  }

  /** Preempts the last sequence of the lowest priority among those that `yields` names and no step computes. */
  preemptAfter(yields: (holder: Sequence) => boolean): boolean {
    let last: Sequence | undefined;
    for (const holder of this.holders)
      if (holder.steps === 0 && yields(holder) && (!last || holder.yieldsTo(last))) last = holder;
    if (last) this.preempt(last);
    return last !== undefined;
  }

  /** Takes the blocks of a sequence. It starts again when there is room. */
  preempt(sequence: Sequence): void {
    this.preemptions++;
    this.takeBack(sequence);
    sequence.kv = this.cache.sequence();
    sequence.preempted();
  }

  learn(sequence: Sequence): void {
    this.prefixes.learn(sequence);
  }

  /** Ends a sequence. Releasing twice is harmless. */
  release(sequence: Sequence): void {
    if (sequence.released) return;
    sequence.released = true;
    if (sequence.group !== undefined) this.grouped--;
    this.takeBack(sequence);
  }

  private takeBack(sequence: Sequence): void {
    this.holders.delete(sequence);
    sequence.started = false;
    this.prefixes.release(sequence);
  }

  private hasRoomFor(sequence: Sequence): boolean {
    const { blockSize, blocks } = this.cache;
    if (this.cache.hasStates && this.cache.freeStates === 0 && !this.prefixes.hasEvictableStates)
      return false;
    const wanted = Math.ceil((sequence.tokens.length + 1) / blockSize) + this.growingBefore(sequence);
    return Math.min(wanted, blocks) <= this.cache.freeBlocks + this.prefixes.evictableBlocks;
  }

  /** Number of holders that do not make way for a sequence, and may take one more block. */
  private growingBefore(sequence: Sequence): number {
    let count = 0;
    for (const holder of this.holders)
      if (!holder.makesWayFor(sequence) && holder.kv.blockTable.length < this.cache.maxBlocks) count++;
    return count;
  }
}
