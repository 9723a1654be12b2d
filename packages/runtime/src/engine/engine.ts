import type { Backend, Graph, KvCache, KvSequence } from '@quern/core';
import type { LanguageModel } from '@quern/models';
import { needFiniteLogits } from '../broken-numbers.js';
import { appending } from './appending.js';
import { DecodeBatch } from './decode-batch.js';
import { DecodeSteps } from './decode-steps.js';
import { nextTurn } from './next-turn.js';
import { recordForward } from './record-forward.js';
import { RowSteps } from './row-steps.js';
import { runStep } from './run-step.js';
import type { TokenChoice } from './token-choice.js';

export interface EngineOptions {
  readonly model: LanguageModel;
  readonly cache: KvCache;
  /** Decode steps are captured and replayed with it; absent: each is recorded. */
  readonly graph: Graph | undefined;
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

/** One model and one cache: tokens of a sequence in, the next token or logits out. Rejections leave the sequence as it was. */
export class Engine {
  private readonly steps: DecodeSteps;
  private readonly batch: DecodeBatch;

  /** Steps of a few rows, for speculation, and chains. */
  readonly rows: RowSteps;
  /** Generations that hold a sequence now. */
  active = 0;

  constructor(private readonly options: EngineOptions) {
    this.steps = new DecodeSteps(options);
    this.rows = new RowSteps(options);
    this.batch = new DecodeBatch(this.steps);
  }

  get backend(): Backend {
    return this.options.model.backend;
  }

  /** Most rows of a step that each get the bits that they would get alone. */
  get exactRows(): number {
    return this.backend.profile.exactRows ?? 1;
  }

  /** Computes the tokens of a prompt, chunk by chunk, and chooses the one that follows. `ids` has at least one. */
  async prefill(
    sequence: KvSequence,
    ids: readonly number[],
    choice: TokenChoice,
    options: RunOptions,
  ): Promise<number> {
    const { prefillChunk } = this.options;
    const lastChunk = Math.floor((ids.length - 1) / prefillChunk) * prefillChunk;
    for (let at = 0; at < lastChunk; at += prefillChunk) {
      await this.fill(sequence, ids.slice(at, at + prefillChunk), options.signal);
      options.onProgress?.({ processed: at + prefillChunk, total: ids.length });
    }
    const token = await this.choose(sequence, ids.slice(lastChunk), choice, options.signal);
    options.onProgress?.({ processed: ids.length, total: ids.length });
    return token;
  }

  /** Computes one token, in a step with others that are wanted now, and chooses the one that follows. */
  decode(
    sequence: KvSequence,
    token: number,
    choice: TokenChoice,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    return appending(sequence, 1, () => this.batch.next({ sequence, token }, choice, signal));
  }

  /** Logits of every position, [V] each, of a sequence that `ids` begins. Rejects with BAD_LOGITS. */
  async logits(sequence: KvSequence, ids: readonly number[], signal?: AbortSignal): Promise<Float32Array[]> {
    const { model, prefillChunk } = this.options;
    const most = Math.max(1, Math.floor(logitsBytes / (4 * model.config.vocabulary)));
    const rows: Float32Array[] = [];
    const chunk = Math.min(prefillChunk, most);
    for (let at = 0; at < ids.length; at += chunk) {
      const some = await this.logitsOf(sequence, ids.slice(at, at + chunk), signal);
      await needFiniteLogits(some, at);
      rows.push(...some);
    }
    return rows;
  }

  dispose(): void {
    this.rows.dispose();
    this.steps.dispose();
  }

  private choose(
    sequence: KvSequence,
    ids: readonly number[],
    choice: TokenChoice,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    if (ids.length === 1) return this.decode(sequence, ids[0]!, choice, signal);
    const { model, cache } = this.options;
    return appending(sequence, ids.length, async () => {
      const arrays = cache.describe([{ sequence, rows: ids.length }]);
      const rows = await runStep(model, cache, Int32Array.from(ids), arrays, choice.head, signal);
      return choice.take(rows[0]!);
    });
  }

  /** Computes tokens for the sake of their keys and values only: no row's logits are asked for. */
  private fill(sequence: KvSequence, ids: readonly number[], signal: AbortSignal | undefined): Promise<void> {
    const { model, cache } = this.options;
    return appending(sequence, ids.length, async () => {
      const step = model.backend.step();
      const arrays = { ...cache.describe([{ sequence, rows: ids.length }]), lastRows: new Int32Array(0) };
      recordForward(step, model, cache, Int32Array.from(ids), arrays);
      await nextTurn();
      await step.run(signal ? { signal } : {});
    });
  }

  private logitsOf(
    sequence: KvSequence,
    ids: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array[]> {
    const { model, cache } = this.options;
    const { vocabulary } = model.config;
    return appending(sequence, ids.length, async () => {
      const step = model.backend.step();
      const described = cache.describe([{ sequence, rows: ids.length }]);
      const arrays = { ...described, lastRows: Int32Array.from(ids, (_, row) => row) };
      const { logits } = recordForward(step, model, cache, Int32Array.from(ids), arrays);
      await nextTurn();
      await step.run(signal ? { signal } : {});
      const values = (await step.read(logits)) as Float32Array; // [T, V]
      return ids.map((_, row) => values.slice(row * vocabulary, (row + 1) * vocabulary));
    });
  }
}
