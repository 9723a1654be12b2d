import type { Backend, ProgressListener } from '@quern/core';
import { type Adapter, loadAdapters } from '@quern/models';
import { needFiniteLogits } from '../broken-numbers.js';
import type { NoticeListener } from '../notice.js';
import { batchRows, type SequenceRows } from './batch.js';
import { BlockManager } from './block-manager.js';
import { Loop } from './loop.js';
import type { DeviceTurns, OffloadOptions } from './offload/offloaded-prefix-cache.js';
import { noStops, type TokensRequest } from './request.js';
import { Runner, type RunnerOptions } from './runner/runner.js';
import { plainMode } from './sampling/mode.js';
import type { SampledToken, SamplingParams } from './sampling/params.js';
import type { RowOutput } from './sampling/record.js';
import type { Sequence, SequenceOptions } from './sequence.js';

export interface EngineOptions extends RunnerOptions {
  /** A text does not depend on other requests: see `LoadOptions.deterministic`. */
  readonly deterministic?: boolean | undefined;
  /** Most requests that wait for blocks; default: no limit. */
  readonly maxQueue?: number | undefined;
  /** As `LoadOptions.itlTarget`. */
  readonly itlTarget?: number | undefined;
  /** As `LoadOptions.ttftTarget`. */
  readonly ttftTarget?: number | undefined;
  /** Where blocks are offloaded. Default: nowhere. */
  readonly offload?: OffloadOptions | undefined;
  readonly onNotice?: NoticeListener;
}

/** The tokens of a prompt. */
export interface PromptCounts {
  readonly promptTokens: number;
  /** Those that the cache held from other sequences with the same prefix. */
  readonly cachedTokens: number;
}

/** Options of a prompt's computation. */
export interface PromptOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called when the computing of a prompt begins. */
  readonly onPrompt?: ((counts: PromptCounts) => void) | undefined;
  /** Called after each chunk of a prompt, with its tokens. */
  readonly onProgress?: ProgressListener<'prefill'> | undefined;
}

/** What an engine does now, and has done. */
export interface EngineStats {
  /** Requests that have blocks and wait for tokens. */
  readonly running: number;
  /** Requests that wait for blocks, or for a prefix that another one computes. */
  readonly waiting: number;
  /** Blocks of the cache; `freeBlocks`: of no sequence; `cachedBlocks`: of no sequence, with known tokens. */
  readonly blocks: number;
  readonly freeBlocks: number;
  readonly cachedBlocks: number;
  /** Tokens of a block. */
  readonly blockSize: number;
  /** Prompt tokens that were looked up in the cache; `prefixHits`: that were found. */
  readonly prefixQueries: number;
  readonly prefixHits: number;
  /** Tokens whose blocks were restored from `cacheMemory`, and from `cacheDir`. */
  readonly memoryHits: number;
  readonly diskHits: number;
  /** Bytes of the blocks in `cacheMemory`. */
  readonly cacheMemoryBytes: number;
  /** Computed and found prompt tokens. */
  readonly promptTokens: number;
  readonly generatedTokens: number;
  /** Times that a sequence lost its blocks to others; its tokens were computed again. */
  readonly preemptions: number;
}

/** Most bytes of logits from one step of `logits`. */
const logitsBytes = 64 << 20;

/** Where the host computes, a wake-up of JavaScript takes 0.1 ms from each step: one in 80 of these. */
const shortestHanded = 8;

/**
 * One model and one cache: tokens of a sequence in, next tokens or logits out. After a rejection the sequence keeps the tokens that were computed.
 */
export class Engine {
  private readonly runner: Runner;
  private readonly loop: Loop;
  private readonly blockManager: BlockManager;
  private readonly counts = { prefixQueries: 0, prefixHits: 0, promptTokens: 0 };

  constructor(private readonly options: EngineOptions) {
    const { cache, prefillChunk, deterministic = false, onNotice, offload } = options;
    this.runner = new Runner(options);
    const turns: DeviceTurns = {
      beside: (work) => this.loop.beside(work),
      wake: () => this.loop.wake(),
    };
    this.blockManager = new BlockManager(cache, offload && { options: offload, turns });
    const { maxQueue = Number.POSITIVE_INFINITY, itlTarget, ttftTarget } = options;
    const rows = batchRows(prefillChunk);
    this.loop = new Loop({
      runner: this.runner,
      blockManager: this.blockManager,
      sequences: deterministic ? Math.min(rows, this.exactRows) : rows,
      prefillChunk,
      alone: deterministic,
      plansInFlight: this.plansInFlight,
      shortestHanded: this.backend.profile.kind === 'cpu' ? shortestHanded : 0,
      maxQueue,
      itlTarget,
      ttftTarget,
      onNotice,
    });
  }

  get backend(): Backend {
    return this.options.model.backend;
  }

  /** Most rows of a step such that each row has the same bits as in a step of its own. */
  get exactRows(): number {
    return Math.min(...this.options.model.parts.map(({ backend }) => backend.profile.exactRows ?? 1));
  }

  /** Blocks of no sequence. */
  get freeBlocks(): number {
    return this.blockManager.freeBlocks;
  }

  /** Whether layers keep states: a sequence goes back only to those that it keeps. */
  get hasStates(): boolean {
    return this.blockManager.hasStates;
  }

  get stats(): EngineStats {
    const { blocks, blockSize, freeBlocks, idleBlocks: cachedBlocks, preemptions } = this.blockManager;
    const { runningRequests: running, waitingRequests: waiting, chosenTokens: generatedTokens } = this.loop;
    const state = { running, waiting, blocks, blockSize, freeBlocks, cachedBlocks };
    return { ...state, preemptions, generatedTokens, ...this.counts, ...this.blockManager.offloadCounts };
  }

  /** A new sequence. It takes blocks when its first tokens are computed. */
  sequence(options: SequenceOptions = {}): Sequence {
    const { deterministic = false } = this.options;
    return this.blockManager.sequence(deterministic ? { ...options, reuse: false } : options);
  }

  /** Ends a sequence. Releasing twice is harmless. */
  release(sequence: Sequence): void {
    this.blockManager.release(sequence);
    this.loop.wake();
  }

  /** Computes a prompt in chunks and chooses the next token. `ids` must not be empty. */
  async prefill(
    sequence: Sequence,
    ids: readonly number[],
    sampling: SamplingParams,
    { signal, onPrompt, onProgress }: PromptOptions,
  ): Promise<SampledToken> {
    let done = 0;
    const total = ids.length;
    const isFirst = sequence.tokens.length === 0;
    const onRows = (rows: number): void => {
      done = Math.max(done, rows); // after a preemption, tokens are computed again
      onProgress?.({ phase: 'prefill', done, total });
    };
    const onBegin = (): void => onPrompt?.({ promptTokens: total, cachedTokens: sequence.cachedTokens });
    const request = { sequence, ids, sampling, most: 1, stops: noStops, signal, onBegin, onRows };
    const [token] = await this.loop.tokens(request);
    if (isFirst) this.count(sequence, total);
    return token!;
  }

  /**
   * Most tokens that a call should draft now. `exactRows` rows cost little more than one, because the time goes into
   * reading the weights; all calls share them. A call alone, or whose text must not depend on others: any number.
   */
  get mostDrafts(): number {
    const { sharing } = this;
    return sharing > 1 ? Math.floor(this.exactRows / sharing) - 1 : Number.POSITIVE_INFINITY;
  }

  /** Number of calls whose steps are shared: 1 where a text must not depend on others. */
  get sharing(): number {
    return this.options.deterministic ? 1 : this.blockManager.holders.size;
  }

  /**
   * The n ≥ 1 tokens after the last of `request.ids`, in steps shared with concurrent requests. The sequence then holds
   * all of them but the last. With drafts: the tokens up to the first that differs from its draft.
   */
  decode(request: TokensRequest): Promise<readonly SampledToken[]> {
    return this.loop.tokens(request);
  }

  /** Ends `decode` of a sequence, where a chain computes its tokens, after at most one more token. */
  stop(sequence: Sequence): void {
    this.loop.stop(sequence);
  }

  /** Rejects requests of a sequence, now and later, with ABORTED after the step under way. */
  cancel(sequence: Sequence): void {
    sequence.cancelled = true;
    this.loop.stop(sequence);
    this.loop.wake();
  }

  /** Appends `ids` to the sequence and gives the logits after each of them, [V] each. Rejects with BAD_LOGITS. */
  async logits(sequence: Sequence, ids: readonly number[], signal?: AbortSignal): Promise<Float32Array[]> {
    const { model, prefillChunk } = this.options;
    const most = Math.max(1, Math.floor(logitsBytes / (4 * model.config.vocabulary)));
    const rows: Float32Array[] = [];
    const take = (outputs: readonly RowOutput[]) => outputs.map(({ logits }) => logits!.slice());
    const options = { mode: plainMode('logits'), signal, all: true };
    for (const tokens of chunksOf(ids, Math.min(prefillChunk, most))) {
      const some = await this.appending(sequence, tokens, signal, (start) =>
        this.loop.beside(() => this.runner.run([lastRows(sequence, start, tokens)], take, options)),
      );
      await needFiniteLogits(some, rows.length);
      rows.push(...some);
    }
    return rows;
  }

  /**
   * Loads these adapters in place of the present ones; adapter i has place i + 1. No sequence may hold an adapter that is
   * missing in the list or has another place. A failure changes nothing.
   * @throws BackendError OUT_OF_MEMORY, DISPOSED
   */
  async adapt(adapters: readonly (Adapter | undefined)[]): Promise<void> {
    const isEmpty = adapters.every((adapter) => adapter === undefined);
    this.runner.adapt(isEmpty ? undefined : await loadAdapters(this.options.model.parts, adapters));
  }

  /** Resolves when the folder of offloaded blocks, if any, has all known blocks. */
  save(): Promise<void> {
    return this.blockManager.save();
  }

  dispose(): void {
    this.blockManager.dispose();
    this.loop.dispose();
    this.runner.dispose();
  }

  private count({ cachedTokens, reuse }: Sequence, promptTokens: number): void {
    if (reuse) this.counts.prefixQueries += promptTokens;
    this.counts.prefixHits += cachedTokens;
    this.counts.promptTokens += promptTokens;
  }

  /** Steps submitted at once: max(plans that the devices keep in flight, parts of the model). */
  private get plansInFlight(): number {
    const { parts } = this.options.model;
    return Math.max(parts.length, ...parts.map(({ backend }) => backend.profile.plansInFlight ?? 1));
  }

  /** Makes room for `tokens`, then runs `compute` with the position of the first. A failure takes the room back. */
  private async appending<T>(
    sequence: Sequence,
    tokens: readonly number[],
    signal: AbortSignal | undefined,
    compute: (start: number) => Promise<T>,
  ): Promise<T> {
    const start = sequence.tokens.length;
    await this.makeRoom(sequence, tokens.length, signal);
    for (const token of tokens) sequence.tokens.push(token);
    sequence.steps++;
    try {
      const result = await compute(start);
      sequence.computed = start + tokens.length;
      return result;
    } catch (error) {
      sequence.truncate(start);
      throw error;
    } finally {
      sequence.steps--;
    }
  }

  /** Makes room for `count` more tokens. Computes tokens that a preemption took. */
  private async makeRoom(sequence: Sequence, count: number, signal: AbortSignal | undefined): Promise<void> {
    const nothing = { ids: [], sampling: undefined, most: 0, stops: noStops };
    for (;;) {
      if (!sequence.started || sequence.missing > 0) await this.loop.tokens({ sequence, signal, ...nothing });
      if (this.blockManager.growBefore(sequence, count)) return;
      this.blockManager.preempt(sequence);
    }
  }
}

const lastRows = ({ kv, adapters }: Sequence, start: number, tokens: readonly number[]): SequenceRows => ({
  start,
  tokens,
  blocks: kv.blockTable,
  states: kv.states,
  outputs: tokens.length,
  adapters,
});

/** Consecutive parts of `ids`: `size` tokens each, the last one perhaps shorter. */
const chunksOf = (ids: readonly number[], size: number): (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / size) }, (_, i) => ids.slice(i * size, (i + 1) * size));
