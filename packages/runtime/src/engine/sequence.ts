import type { KvSequence } from '@quern/core';
import { type AdapterUse, rootOf } from './adapter-use.js';
import type { PrefixBlock, PrefixHolder } from './prefix-block.js';
import type { PrefixCache } from './prefix-cache.js';

export interface SequenceOptions {
  /** Higher first; default 0. */
  readonly priority?: number | undefined;
  /** Share equal prefixes with other sequences; default true. */
  readonly reuse?: boolean | undefined;
  /** As `GenerateOptions.maxWaitMs`. */
  readonly maxWaitMs?: number | undefined;
  /** Adapters that change its tokens' keys and values. Default: none. */
  readonly adapters?: readonly AdapterUse[] | undefined;
  /** As `GenerateOptions.group`. */
  readonly group?: string | undefined;
}

/**
 * One text: its tokens, and how many of them the cache holds. `kv` is shorter than `tokens` where keys and values have
 * not been computed, or where a preemption took its blocks. The scheduler computes what is missing before the next
 * token.
 */
export class Sequence implements PrefixHolder {
  readonly tokens: number[] = [];
  /** Number of tokens whose keys and values have been computed. */
  computed = 0;
  /** Rows with an output that the present request ends with: the last token and its drafts; 0: none. */
  outputs = 0;
  /** When the present request came, in milliseconds. */
  since = 0;
  /** Whether the sequence has blocks, or may take some. False before the start and after a preemption. */
  started = false;
  /** Tokens of the first prompt that the cache held from earlier sequences. */
  cachedTokens = 0;
  /** `performance.now()` of the first start. */
  startedAt = 0;
  released = false;
  /** Nobody waits for its tokens any more. */
  cancelled = false;
  /** Number of steps under way that compute its tokens. */
  steps = 0;
  /** Sequences of its group that go before it; 0 where no sequence has a group. */
  turn = 0;
  readonly priority: number;
  readonly reuse: boolean;
  readonly adapters: readonly AdapterUse[];
  readonly group: string | undefined;
  /** Name of its adapters: see `rootOf`. */
  readonly root: string;
  /** Known blocks at its start. */
  readonly known: PrefixBlock[] = [];
  readonly maxWaitMs: number | undefined;
  /** Tokens of the steps that `asBefore` has seen, by their first position. */
  private readonly chunks = new Map<number, number>();
  /** Number of tokens that had been computed when a preemption took them. */
  private taken = 0;

  /** @param order number of the sequence, in order of arrival */
  constructor(
    public kv: KvSequence,
    readonly order: number,
    private readonly prefixes: PrefixCache,
    { priority = 0, reuse = true, maxWaitMs, adapters = [], group }: SequenceOptions,
  ) {
    this.priority = priority;
    this.reuse = reuse;
    this.maxWaitMs = maxWaitMs;
    this.adapters = adapters;
    this.group = group;
    this.root = rootOf(adapters);
  }

  /** Longest wait for blocks. None after the start: a sequence that was preempted is never given up. */
  get patience(): number | undefined {
    return this.startedAt === 0 ? this.maxWaitMs : undefined;
  }

  /** Number of tokens to compute. */
  get missing(): number {
    return this.tokens.length - this.kv.length;
  }

  /** Whether only rows with outputs are to be computed. */
  get decodes(): boolean {
    return this.started && this.outputs > 0 && this.missing === this.outputs;
  }

  /** Gives up the drafts: a sequence without blocks computes all its tokens again. */
  dropDrafts(): void {
    if (this.outputs <= 1) return;
    this.truncate(this.tokens.length - this.outputs + 1);
    this.outputs = 1;
  }

  /** A preemption takes its blocks. */
  preempted(): void {
    this.taken = Math.max(this.taken, this.computed);
    this.computed = 0;
  }

  /**
   * How many of its next `count` tokens to compute in a step, so that tokens that a preemption took get the same values
   * again: as many as before, or up to `single` of those that were computed one by one.
   */
  asBefore(count: number, single: number): number {
    if (count === 0) return 0;
    const start = this.kv.length;
    const known = this.chunks.get(start);
    if (known === undefined && start < this.taken) {
      const next = Math.min(this.taken, ...[...this.chunks.keys()].filter((at) => at > start));
      return Math.min(count, single, next - start);
    }
    const rows = Math.min(count, known ?? count);
    this.chunks.set(start, rows);
    return rows;
  }

  /** Forgets all tokens from `length` on. */
  truncate(length: number): void {
    if (length < this.tokens.length) this.tokens.length = length;
    const end = this.kv.states ? this.kv.lengthAfterCut(length) : length;
    this.prefixes.cut(this, end);
    if (end < this.kv.length) this.kv.truncate(end);
    this.taken = Math.min(this.taken, length);
    if (end < length) this.taken = Math.max(this.taken, Math.min(this.computed, length)); // computed again
    this.computed = Math.min(this.computed, this.kv.length);
    for (const start of this.chunks.keys()) if (start >= length) this.chunks.delete(start);
  }

  /** Whether it yields its blocks to `other`: lower priority; at the same priority, a later turn, or later. */
  yieldsTo(other: Sequence): boolean {
    if (this.priority !== other.priority) return this.priority < other.priority;
    return this.turn === other.turn ? this.order > other.order : this.turn > other.turn;
  }

  /** Whether it gives up its blocks so that `other` can start: lower priority, or a later turn of its group. */
  makesWayFor(other: Sequence): boolean {
    return this.priority === other.priority ? this.turn > other.turn : this.priority < other.priority;
  }
}
