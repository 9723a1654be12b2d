import { onAbort, type QuernError } from '@quern/core';
import { RuntimeError } from '../error.js';
import type { Lease } from './lease.js';
import type { Proposal } from './sampling/distribution.js';
import type { SampledToken, SamplingParams } from './sampling/params.js';
import { noToken, takeToken } from './sampling/pipeline.js';
import type { RowOutput } from './sampling/record.js';
import type { StepRows } from './step-rows.js';

/** Request for the tokens after `ids`. */
export interface TokensRequest {
  readonly lease: Lease;
  /** Tokens to compute. The lease has none of them yet. */
  readonly ids: readonly number[];
  /**
   * How many of `ids`, at the end, are drafts: checked in the same step, each against the choice after the token before
   * it. Default 0.
   */
  readonly drafts?: number | undefined;
  /** For each output: the token that was guessed for it, of a draft with randomness. */
  readonly proposals?: readonly Proposal[] | undefined;
  /** The token that must come next where all drafts are right. */
  readonly forced?: number | undefined;
  /** How the tokens are chosen. Absent: only keys and values are computed, and the result is empty. */
  readonly sampling: SamplingParams | undefined;
  /** Most tokens to return. */
  readonly most: number;
  /** End tokens. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
  /** Called once, when the lease has its first blocks: its `cachedTokens` are known. */
  readonly onBegin?: (() => void) | undefined;
  /** Called after each chunk of `ids`, with the number of computed tokens. */
  readonly onRows?: ((rows: number) => void) | undefined;
}

/** A request in the scheduler. */
export class Member {
  readonly lease: Lease;
  ended = false;
  private failure: { readonly error: unknown } | undefined;
  /** Ends the watch of a wait. */
  stopWaiting: (() => void) | undefined;
  /** Ends the watch of an abort, while its beginning is awaited. */
  private stopListening: (() => void) | undefined;
  /** Tokens of the lease before the request. */
  private readonly before: number;
  private drafts: number;

  constructor(
    readonly request: TokensRequest,
    private readonly resolve: (tokens: readonly SampledToken[]) => void,
    private readonly reject: (error: unknown) => void,
    /** Milliseconds: when the request came. */
    readonly since = performance.now(),
    /** As `RowSampling.masks`, for the step that chooses its tokens. */
    private readonly masks?: Int32Array | undefined,
  ) {
    this.lease = request.lease;
    this.before = this.lease.tokens.length;
    this.drafts = request.drafts ?? 0;
    for (const id of request.ids) this.lease.tokens.push(id);
  }

  get aborted(): boolean {
    return this.request.signal?.aborted === true;
  }

  /** Whether nobody waits for its tokens any more. */
  get isOver(): boolean {
    return this.aborted || this.lease.released;
  }

  /** Whether steps under way compute all its tokens. */
  get computesAll(): boolean {
    return this.lease.started && this.lease.missing === 0;
  }

  /** Number of its last rows with outputs: one, and one per draft. */
  get outputs(): number {
    return 1 + this.drafts;
  }

  /** Whether only rows with outputs are to be computed. */
  get decodes(): boolean {
    return this.lease.started && this.lease.missing === this.outputs && this.request.sampling !== undefined;
  }

  /** Gives up the drafts: a call without blocks computes all its tokens again. */
  dropDrafts(): void {
    if (this.drafts === 0) return;
    this.lease.truncate(this.lease.tokens.length - this.drafts);
    this.drafts = 0;
  }

  /** Another call computes its beginning, or blocks are restored: no step can end it, so an abort does. */
  awaitBeginning(): void {
    const { signal } = this.request;
    this.stopListening ??= signal && onAbort(signal, () => this.fail(aborted()));
  }

  /** The lease has its first blocks. */
  began(): void {
    const { lease } = this;
    this.stopWatches();
    if (lease.startedAt === 0) {
      lease.startedAt = performance.now();
      lease.cachedTokens = lease.sequence.length;
      this.report();
    }
    if (lease.missing === 0 && !this.ended) this.end([]);
  }

  /** A listener that throws ends its own call alone. */
  private report(): void {
    try {
      this.request.onBegin?.();
    } catch (error) {
      this.fail(error);
    }
  }

  /** The next `count` rows of the sequence, from position `start` on. */
  rowsFrom(start: number, count: number): StepRows {
    const { sequence, tokens, adapters } = this.lease;
    const { outputs } = this;
    const { sampling: params } = this.request;
    const masks = this.lease.missing === 0 ? this.masks : undefined;
    const taken = tokens.slice(start, start + count);
    return { sequence, start, tokens: taken, outputs, sampling: params && { params, masks }, adapters };
  }

  /**
   * Takes the rows of a step, up to position `computed`, and their outputs. Returns the number of chosen tokens: with
   * drafts, the lease then holds the right ones.
   */
  settle(outputs: readonly RowOutput[], computed: number): number {
    const { sampling, onRows } = this.request;
    const { lease } = this;
    const rows = computed - lease.computed;
    lease.computed = computed;
    try {
      onRows?.(rows);
      if (computed < lease.tokens.length) return 0;
      if (this.aborted) throw aborted();
      const found = sampling ? this.choose(sampling, outputs) : [];
      if (this.drafts > 0) lease.truncate(lease.tokens.length - this.drafts + found.length - 1);
      this.end(found);
      return found.length;
    } catch (error) {
      lease.computed = this.before;
      this.fail(error);
      return 0;
    }
  }

  /** The tokens of its outputs, up to the first that differs from the draft. */
  private choose(sampling: SamplingParams, outputs: readonly RowOutput[]): SampledToken[] {
    const { drafts = 0, proposals, forced } = this.request;
    const first = this.lease.tokens.length - this.drafts;
    const words = (this.masks?.length ?? 0) / (1 + drafts);
    const found: SampledToken[] = [];
    for (const [i, row] of outputs.entries()) {
      const mask = this.masks?.subarray(i * words, (i + 1) * words);
      const given = { mask, proposal: proposals?.[i], forced: i === drafts ? forced : undefined };
      found.push(takeToken(sampling, row, given));
      if (found[i]!.token !== this.lease.tokens[first + i]) break;
    }
    return found;
  }

  /**
   * Takes the tokens of a chain that began at position `start`. `noToken` at the first place is an error; at a later
   * place it is dropped, and the next step reports it. Returns the number of tokens.
   */
  settleChain(found: Int32Array, start: number): number {
    const { lease } = this;
    const sampling = this.request.sampling!;
    try {
      if (this.aborted) throw aborted();
      const count = found.length > 1 && found.at(-1) === noToken ? found.length - 1 : found.length;
      const tokens: SampledToken[] = [];
      for (let i = 0; i < count; i++)
        tokens.push(takeToken(sampling, { best: found.subarray(i, i + 1), logits: undefined }));
      for (let i = 0; i < count - 1; i++) lease.tokens.push(tokens[i]!.token);
      lease.sequence.truncate(start + count);
      lease.computed = start + count;
      this.end(tokens);
      return count;
    } catch (error) {
      lease.computed = this.before;
      this.fail(error);
      return 0;
    }
  }

  /**
   * Rejects the request, after the steps under way that compute its tokens. Of its tokens the lease keeps the computed
   * ones.
   */
  fail(error: unknown): void {
    if (this.ended) return;
    this.close();
    this.failure = { error };
    if (this.lease.busy === 0) this.giveUp();
  }

  /** A step that computed its tokens has ended. */
  leaveStep(): void {
    if (--this.lease.busy === 0) this.giveUp();
  }

  private giveUp(): void {
    if (!this.failure) return;
    this.lease.truncate(Math.max(this.before, this.lease.computed));
    this.reject(this.failure.error);
  }

  private end(tokens: readonly SampledToken[]): void {
    this.close();
    this.resolve(tokens);
  }

  private close(): void {
    this.ended = true;
    this.stopWatches();
  }

  private stopWatches(): void {
    this.stopWaiting?.();
    this.stopListening?.();
    this.stopWaiting = undefined;
    this.stopListening = undefined;
  }
}

/** The tokens that end a row of a chain: `noToken` and the end tokens of all members. */
export function stopsOf(members: readonly Member[]): Int32Array {
  return Int32Array.from([noToken, ...members.flatMap(({ request }) => [...request.stops])]);
}

/** Calls `act` when any member is aborted. Returns a function that removes the listeners. */
export function onAbortOfAny(members: readonly Member[], act: () => void): () => void {
  const ends = members.map(({ request }) => request.signal && onAbort(request.signal, act));
  return () => {
    for (const end of ends) end?.();
  };
}

export const aborted = (): QuernError => new RuntimeError('ABORTED', 'aborted while a token was computed');
