import { onAbort, type QuernError } from '@quern/core';
import { RuntimeError } from '../error.js';
import type { SequenceRows } from './batch.js';
import type { Proposal } from './sampling/distribution.js';
import type { SampledToken, SamplingParams } from './sampling/params.js';
import { noToken, takeToken } from './sampling/pipeline.js';
import type { RowOutput } from './sampling/record.js';
import type { Sequence } from './sequence.js';

/** What a caller wants: the tokens after `ids`. */
export interface TokensRequest {
  readonly sequence: Sequence;
  /** Tokens to compute. The sequence has none of them yet. */
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
  /** Called once, when the sequence has its first blocks: its `cachedTokens` are known. */
  readonly onBegin?: (() => void) | undefined;
  /** Called after each chunk of `ids`, with the number of their tokens that the cache holds. */
  readonly onRows?: ((rows: number) => void) | undefined;
  /** Called for each token of a chain while the chain runs. The promise has all tokens. */
  readonly onToken?: ((token: SampledToken) => void) | undefined;
}

/** For requests of one token. */
export const noStops = new Int32Array(0);

/** A request under way: the promise of its tokens. */
export class Request {
  readonly sequence: Sequence;
  ended = false;
  private failure: { readonly error: unknown } | undefined;
  /** Ends of the watches, by what is waited for. */
  private readonly watches = new Map<'blocks' | 'prefix', () => void>();
  /** Tokens of the sequence before the request. */
  private readonly before: number;
  /** The tokens of its chain so far. */
  private readonly chained: SampledToken[] = [];

  /** @param masks as `RowSampling.masks`, for the step that chooses its tokens @param onEnd called once, when it has ended */
  constructor(
    readonly wanted: TokensRequest,
    private readonly resolve: (tokens: readonly SampledToken[]) => void,
    private readonly reject: (error: unknown) => void,
    private readonly masks: Int32Array | undefined,
    private readonly onEnd: (request: Request) => void,
  ) {
    const { sequence, ids, drafts = 0, sampling } = wanted;
    this.sequence = sequence;
    this.before = sequence.tokens.length;
    sequence.outputs = sampling ? 1 + drafts : 0;
    for (const id of ids) sequence.tokens.push(id);
  }

  /** Number of its last rows with outputs: one, and one per draft. */
  get outputs(): number {
    return this.sequence.outputs;
  }

  /** Whether nobody waits for its tokens any more. */
  get isOver(): boolean {
    const { released, cancelled } = this.sequence;
    return released || cancelled || this.wanted.signal?.aborted === true;
  }

  get waitsForBlocks(): boolean {
    return this.watches.has('blocks');
  }

  /** Watches for its end while it waits. `watch` returns a function that ends the watch. */
  watch(what: 'blocks' | 'prefix', watch: () => () => void): void {
    if (!this.ended && !this.watches.has(what)) this.watches.set(what, watch());
  }

  /** The sequence has its first blocks. A listener that throws ends its own request alone. */
  started(): void {
    const { sequence } = this;
    this.unwatch();
    if (sequence.startedAt === 0) {
      sequence.startedAt = performance.now();
      try {
        this.wanted.onBegin?.();
      } catch (error) {
        this.fail(error);
      }
    }
    if (sequence.missing === 0 && sequence.steps === 0) this.end([]); // nothing to compute
  }

  /** Its rows in a step, and how their tokens are chosen. */
  withSampling(rows: SequenceRows): SequenceRows {
    if (rows.outputs === 0) return rows;
    return { ...rows, sampling: { params: this.wanted.sampling!, masks: this.masks } };
  }

  /**
   * Takes the outputs of its rows in a step, up to position `computed`. Returns the number of chosen tokens: with drafts,
   * the sequence then holds the right ones.
   */
  settle(outputs: readonly RowOutput[], computed: number): number {
    const { sampling, onRows } = this.wanted;
    const { sequence } = this;
    sequence.computed = computed;
    const drafts = sequence.outputs - 1;
    return this.orFail(() => {
      onRows?.(computed - this.before);
      if (this.isOver) {
        sequence.computed = Math.min(computed, sequence.tokens.length - Math.max(0, drafts)); // nobody checks them
        this.fail(aborted()); // its next step may be under way
        return 0;
      }
      if (computed < sequence.tokens.length) return 0;
      const found = sampling ? this.choose(sampling, outputs) : [];
      if (drafts > 0) sequence.truncate(sequence.tokens.length - drafts + found.length - 1);
      this.end(found);
      return found.length;
    });
  }

  /** Takes the next token of a running chain; `noToken`: there is none. A listener that throws ends its own request alone. */
  takeChained(token: number): void {
    if (token === noToken || this.ended || this.isOver) return;
    try {
      this.wanted.onToken?.(this.addChained(token));
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Takes the tokens of a chain that began at position `start`. `noToken` at the first place is an error; at a later
   * place it is dropped, and the next step reports it. Returns the number of tokens.
   * @param steps of the chain, for all its rows
   */
  settleChain(found: Int32Array, start: number, steps: number): number {
    const { sequence, chained: tokens } = this;
    return this.orFail(() => {
      const count = found.length > 1 && found.at(-1) === noToken ? found.length - 1 : found.length;
      for (const token of found.subarray(tokens.length, count)) this.addChained(token);
      for (let i = 0; i < count - 1; i++) sequence.tokens.push(tokens[i]!.token);
      if (count === steps || !sequence.kv.states) sequence.kv.endAt(start + count);
      else sequence.truncate(start + count); // the chain went on for others, and with its state
      sequence.computed = sequence.kv.length;
      if (this.isOver) this.fail(aborted());
      else this.end(tokens);
      return count;
    });
  }

  /**
   * Rejects the request, after the steps under way that compute its tokens. Of its tokens the sequence keeps the
   * computed ones.
   */
  fail(error: unknown): void {
    if (this.ended) return;
    this.close();
    this.failure = { error };
    if (this.sequence.steps === 0) this.giveUp();
  }

  /** A step that computed its tokens has ended. */
  leaveStep(): void {
    if (--this.sequence.steps === 0) this.giveUp();
  }

  private addChained(token: number): SampledToken {
    const taken = takeToken(this.wanted.sampling!, { best: Int32Array.of(token), logits: undefined });
    this.chained.push(taken);
    return taken;
  }

  /** The tokens of its outputs, up to the first that differs from the draft. */
  private choose(sampling: SamplingParams, outputs: readonly RowOutput[]): SampledToken[] {
    const { drafts = 0, proposals, forced } = this.wanted;
    const { tokens } = this.sequence;
    const first = tokens.length - this.outputs + 1;
    const words = (this.masks?.length ?? 0) / (1 + drafts);
    const found: SampledToken[] = [];
    for (const [i, row] of outputs.entries()) {
      const mask = this.masks?.subarray(i * words, (i + 1) * words);
      const given = { mask, proposal: proposals?.[i], forced: i === drafts ? forced : undefined };
      found.push(takeToken(sampling, row, given));
      if (found[i]!.token !== tokens[first + i]) break;
    }
    return found;
  }

  /** The number that `settle` gives; where it throws, the request fails, and its computed tokens are forgotten. */
  private orFail(settle: () => number): number {
    try {
      return settle();
    } catch (error) {
      this.sequence.computed = this.before;
      this.fail(error);
      return 0;
    }
  }

  private giveUp(): void {
    if (!this.failure) return;
    const { sequence } = this;
    sequence.truncate(Math.max(this.before, sequence.computed));
    this.reject(this.failure.error);
  }

  private end(tokens: readonly SampledToken[]): void {
    if (this.ended) return;
    this.close();
    this.resolve(tokens);
  }

  private close(): void {
    this.ended = true;
    this.unwatch();
    this.onEnd(this);
  }

  private unwatch(): void {
    for (const end of this.watches.values()) end();
    this.watches.clear();
  }
}

/** The tokens that end a row of a chain: `noToken` and the end tokens of all requests. */
export function endTokensOf(requests: readonly Request[]): Int32Array {
  return Int32Array.from([noToken, ...requests.flatMap(({ wanted }) => [...wanted.stops])]);
}

/** Calls `act` when any request is aborted. Returns a function that removes the listeners. */
export function onAbortOfAny(requests: readonly Request[], act: () => void): () => void {
  const ends = requests.map(({ wanted }) => wanted.signal && onAbort(wanted.signal, act));
  return () => {
    for (const end of ends) end?.();
  };
}

export const aborted = (): QuernError => new RuntimeError('ABORTED', 'aborted while a token was computed');
