import type { KvSequence } from '@quern/core';
import { type AdapterUse, rootOf } from './adapter-use.js';
import type { PrefixBlock, PrefixHolder } from './prefix-block.js';
import type { PrefixCache } from './prefix-cache.js';

/**
 * A call's place in a cache. `tokens` are the tokens whose keys and values the sequence holds or shall hold; the
 * sequence is shorter where they have not been computed, or where the call was preempted. The scheduler computes what
 * is missing before the call's next token.
 */
export class Lease implements PrefixHolder {
  readonly tokens: number[] = [];
  /** Number of tokens whose keys and values have been computed. */
  computed = 0;
  /** Whether the call has blocks, or may take some. False before the start and after a preemption. */
  started = false;
  /** Tokens of the first prompt that the cache held from earlier calls. */
  cachedTokens = 0;
  /** `performance.now()` of the first start. */
  startedAt = 0;
  released = false;
  /** Number of steps that compute its tokens now. */
  busy = 0;
  readonly root: string;
  /** Tokens of the steps that `asBefore` has seen, by their first position. */
  private readonly chunks = new Map<number, number>();
  /** Number of tokens that had been computed when a preemption took them. */
  private taken = 0;
  /** Known blocks at the start of the sequence. */
  readonly known: PrefixBlock[] = [];
  /** How many calls of its group go before it; 0 where no calls have groups. */
  turn = 0;

  constructor(
    public sequence: KvSequence,
    /** Higher first. */
    readonly priority: number,
    /** Number of the call, in order of arrival. */
    readonly order: number,
    /** Whether tokens of other calls may be reused, and its own by others. */
    readonly reuse: boolean,
    /** As `GenerateOptions.maxWaitMs`. */
    readonly maxWaitMs: number | undefined,
    /** Adapters that change its tokens' keys and values. */
    readonly adapters: readonly AdapterUse[],
    /** As `GenerateOptions.group`. */
    readonly group: string | undefined,
    private readonly prefixes: PrefixCache,
  ) {
    this.root = rootOf(adapters);
  }

  /** Longest wait for blocks. None after the start: a call that was preempted is never given up. */
  get patience(): number | undefined {
    return this.startedAt === 0 ? this.maxWaitMs : undefined;
  }

  /** The call gives up its blocks. */
  preempted(): void {
    this.taken = Math.max(this.taken, this.computed);
    this.computed = 0;
  }

  /**
   * How many of its next `count` tokens to compute in a step, so that tokens that a preemption took get the same values
   * again: as many as before, or up to `single` of those that were computed one by one.
   */
  asBefore(count: number, single: number): number {
    const start = this.sequence.length;
    const known = this.chunks.get(start);
    if (known === undefined && start < this.taken) {
      const next = Math.min(this.taken, ...[...this.chunks.keys()].filter((at) => at > start));
      return Math.min(count, single, next - start);
    }
    const rows = Math.min(count, known ?? count);
    this.chunks.set(start, rows);
    return rows;
  }

  /** Number of tokens to compute. */
  get missing(): number {
    return this.tokens.length - this.sequence.length;
  }

  /** Forgets all tokens from `length` on. */
  truncate(length: number): void {
    if (length < this.tokens.length) this.tokens.length = length;
    this.prefixes.cut(this, length);
    if (length < this.sequence.length) this.sequence.truncate(length);
    this.computed = Math.min(this.computed, this.sequence.length);
    this.taken = Math.min(this.taken, length);
    for (const start of this.chunks.keys()) if (start >= length) this.chunks.delete(start);
  }

  /** Whether the call yields its blocks to `other`: lower priority; at the same priority, a later turn, or later. */
  yieldsTo(other: Lease): boolean {
    if (this.priority !== other.priority) return this.priority < other.priority;
    return this.turn === other.turn ? this.order > other.order : this.turn > other.turn;
  }

  /** Whether the call gives up its blocks so that `other` can start: lower priority, or a later turn of its group. */
  makesWayFor(other: Lease): boolean {
    return this.priority === other.priority ? this.turn > other.turn : this.priority < other.priority;
  }
}
