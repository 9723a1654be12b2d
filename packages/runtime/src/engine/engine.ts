import type { Backend, KvSequence } from '@quern/core';
import { needFiniteLogits } from '../broken-numbers.js';
import { appending } from './appending.js';
import { DecodeBatch, type DecodeRequest } from './decode-batch.js';
import { ForwardSteps, type ForwardStepsOptions } from './forward-steps.js';
import { inFlight } from './in-flight.js';
import type { Head, RowOutput } from './step-output.js';
import type { TokenChoice } from './token-choice.js';

export interface EngineOptions extends ForwardStepsOptions {
  /** Most tokens of a prompt in one step. */
  readonly prefillChunk: number;
}

/** What accompanies a call. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** After each chunk of a prompt: tokens done, of how many. */
  readonly onProgress?:
    | ((progress: { readonly processed: number; readonly total: number }) => void)
    | undefined;
}

/** Most bytes of logits that one step of `logits` may leave. */
const logitsBytes = 64 << 20;

const noStops = new Int32Array(0);

/** One model and one cache: tokens of a sequence in, the next token or logits out. A step that rejects leaves the sequence as it was. */
export class Engine {
  private readonly steps: ForwardSteps;
  private readonly batch: DecodeBatch;

  /** Generations that hold a sequence now. */
  active = 0;

  constructor(private readonly options: EngineOptions) {
    this.steps = new ForwardSteps(options);
    this.batch = new DecodeBatch(this.steps);
  }

  get backend(): Backend {
    return this.options.model.backend;
  }

  /** Most rows of a step that each get the bits that they would get alone. */
  get exactRows(): number {
    return Math.min(...this.options.model.parts.map(({ backend }) => backend.profile.exactRows ?? 1));
  }

  /** Computes the tokens of a prompt, chunk by chunk, and chooses the one that follows. `ids` has at least one. */
  async prefill(
    sequence: KvSequence,
    ids: readonly number[],
    choice: TokenChoice,
    { signal, onProgress }: RunOptions,
  ): Promise<number> {
    const chunks = chunksOf(ids, this.options.prefillChunk);
    const last = chunks.pop()!;
    const fills = chunks.map((chunk) => () => this.fill(sequence, chunk, signal));
    let processed = 0;
    for await (const tokens of inFlight(this.plansInFlight, fills)) {
      processed += tokens;
      onProgress?.({ processed, total: ids.length });
    }
    const token = await this.choose(sequence, last, choice, signal);
    onProgress?.({ processed: ids.length, total: ids.length });
    return token;
  }

  /**
   * Computes a token in steps with others that are wanted now, and then those that follow: at least one, of which the sequence
   * holds all but the last.
   */
  decode(request: DecodeRequest): Promise<readonly number[]> {
    return this.batch.next(request);
  }

  /** Appends a few `tokens` and computes them; `take` gets what follows each, before another step overwrites it. */
  compute<T>(
    sequence: KvSequence,
    tokens: readonly number[],
    head: Head,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return appending(sequence, tokens.length, (start) =>
      this.steps.run([{ sequence, start, tokens }], head, take, signal),
    );
  }

  /** Logits of every position, [V] each, of a sequence that `ids` begins. Rejects with BAD_LOGITS. */
  async logits(sequence: KvSequence, ids: readonly number[], signal?: AbortSignal): Promise<Float32Array[]> {
    const { model, prefillChunk } = this.options;
    const most = Math.max(1, Math.floor(logitsBytes / (4 * model.config.vocabulary)));
    const rows: Float32Array[] = [];
    const chunks = chunksOf(ids, Math.min(prefillChunk, most));
    const tasks = chunks.map((chunk) => () => this.logitsOf(sequence, chunk, signal));
    for await (const some of inFlight(this.plansInFlight, tasks)) {
      await needFiniteLogits(some, rows.length);
      rows.push(...some);
    }
    return rows;
  }

  dispose(): void {
    this.steps.dispose();
  }

  /** Steps that are submitted before the first of them has ended: each part of the model can be busy with one. */
  private get plansInFlight(): number {
    return this.options.model.parts.length;
  }

  private async choose(
    sequence: KvSequence,
    tokens: readonly number[],
    choice: TokenChoice,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    if (tokens.length === 1) {
      const request = { sequence, token: tokens[0]!, choice, most: 1, stops: noStops, signal };
      return (await this.decode(request))[0]!;
    }
    const take = (rows: readonly RowOutput[]) => choice.take(rows[0]!);
    return appending(sequence, tokens.length, (start) =>
      this.steps.once([{ sequence, start, tokens }], choice.head, 'last', take, signal),
    );
  }

  /** Computes tokens for the sake of their keys and values only; gives their number. */
  private fill(
    sequence: KvSequence,
    tokens: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    return appending(sequence, tokens.length, (start) =>
      this.steps.once([{ sequence, start, tokens }], 'none', 'none', () => tokens.length, signal),
    );
  }

  private logitsOf(
    sequence: KvSequence,
    tokens: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array[]> {
    const take = (rows: readonly RowOutput[]) => rows.map(({ logits }) => logits!.slice());
    return appending(sequence, tokens.length, (start) =>
      this.steps.once([{ sequence, start, tokens }], 'logits', 'all', take, signal),
    );
  }
}

/** Consecutive parts of `ids`, `size` tokens each but for the last. */
const chunksOf = (ids: readonly number[], size: number): (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / size) }, (_, i) => ids.slice(i * size, (i + 1) * size));
