import type { Backend, ProgressListener } from '@quern/core';
import { type Adapter, loadAdapters } from '@quern/models';
import { needFiniteLogits } from '../broken-numbers.js';
import type { NoticeListener } from '../notice.js';
import { batchRows } from './batch-rows.js';
import { BlockManager, type LeaseOptions } from './block-manager.js';
import type { ForwardStepsOptions } from './forward-options.js';
import { ForwardSteps } from './forward-steps.js';
import type { Lease } from './lease.js';
import type { TokensRequest } from './member.js';
import type { DeviceTurns, OffloadOptions } from './offload/offloaded-prefix-cache.js';
import { plainMode } from './sampling/mode.js';
import type { SampledToken, SamplingParams } from './sampling/params.js';
import type { RowOutput } from './sampling/record.js';
import { Scheduler } from './scheduler.js';
import type { StepRows } from './step-rows.js';

export interface EngineOptions extends ForwardStepsOptions {
  /** A text does not depend on other calls: see `LoadOptions.deterministic`. */
  readonly deterministic?: boolean | undefined;
  /** Most calls that wait for room in the cache; default: no limit. */
  readonly maxQueue?: number | undefined;
  /** Where blocks are offloaded. Default: nowhere. */
  readonly offload?: OffloadOptions | undefined;
  readonly onNotice?: NoticeListener;
}

/** The tokens of a prompt. */
export interface PromptCounts {
  readonly promptTokens: number;
  /** Those that the cache held from other calls with the same prefix. */
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
  /** Calls that have blocks and wait for tokens. */
  readonly running: number;
  /** Calls that wait for blocks. */
  readonly waiting: number;
  /** Blocks of the cache; `freeBlocks`: of no call; `cachedBlocks`: of no call, with known tokens. */
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
  /** Calls whose blocks were taken by others; they were computed again. */
  readonly preemptions: number;
}

/** Most bytes of logits from one step of `logits`. */
const logitsBytes = 64 << 20;

const noStops = new Int32Array(0);

/**
 * One model and one cache: tokens of a lease in, next tokens or logits out. A rejected call leaves the lease as before.
 */
export class Engine {
  private readonly steps: ForwardSteps;
  private readonly scheduler: Scheduler;
  private readonly blockManager: BlockManager;
  private readonly counts = { prefixQueries: 0, prefixHits: 0, promptTokens: 0 };

  constructor(private readonly options: EngineOptions) {
    const { cache, prefillChunk, deterministic = false, onNotice, offload } = options;
    this.steps = new ForwardSteps(options);
    const turns: DeviceTurns = {
      beside: (work) => this.scheduler.beside(work),
      wake: () => this.scheduler.wake(),
    };
    this.blockManager = new BlockManager(cache, offload && { options: offload, turns });
    const { maxQueue = Number.POSITIVE_INFINITY } = options;
    const rows = batchRows(prefillChunk);
    this.scheduler = new Scheduler({
      steps: this.steps,
      blockManager: this.blockManager,
      sequences: deterministic ? Math.min(rows, this.exactRows) : rows,
      prefillChunk,
      alone: deterministic,
      plansInFlight: this.plansInFlight,
      maxQueue,
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

  /** Blocks of no call. */
  get freeBlocks(): number {
    return this.blockManager.freeBlocks;
  }

  get stats(): EngineStats {
    const { blocks, blockSize, freeBlocks, idleBlocks: cachedBlocks, preemptions } = this.blockManager;
    const { runningCalls: running, waitingCalls: waiting, chosenTokens: generatedTokens } = this.scheduler;
    const state = { running, waiting, blocks, blockSize, freeBlocks, cachedBlocks };
    return { ...state, preemptions, generatedTokens, ...this.counts, ...this.blockManager.offloadCounts };
  }

  /** A place in the queue for a call. It takes blocks when its first tokens are computed. */
  lease(options: LeaseOptions = {}): Lease {
    const { deterministic = false } = this.options;
    return this.blockManager.lease(deterministic ? { ...options, reuse: false } : options);
  }

  /** Ends a lease. Releasing twice is harmless. */
  release(lease: Lease): void {
    this.blockManager.release(lease);
    this.scheduler.wake();
  }

  /** Computes a prompt in chunks and chooses the next token. `ids` must not be empty. */
  async prefill(
    lease: Lease,
    ids: readonly number[],
    sampling: SamplingParams,
    { signal, onPrompt, onProgress }: PromptOptions,
  ): Promise<SampledToken> {
    let done = 0;
    const total = ids.length;
    const isFirst = lease.tokens.length === 0;
    const onRows = (rows: number): void => {
      if (done === 0 && isFirst) done = lease.cachedTokens;
      done += rows;
      onProgress?.({ phase: 'prefill', done, total });
    };
    const onBegin = (): void => onPrompt?.({ promptTokens: total, cachedTokens: lease.cachedTokens });
    const request = { lease, ids, sampling, most: 1, stops: noStops, signal, onBegin, onRows };
    const [token] = await this.scheduler.tokens(request);
    if (isFirst) this.count(lease, total);
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
   * The n ≥ 1 tokens after the last of `request.ids`, in steps shared with concurrent requests. The lease then holds
   * all of them but the last. With drafts: the tokens up to the first that differs from its draft.
   */
  decode(request: TokensRequest): Promise<readonly SampledToken[]> {
    return this.scheduler.tokens(request);
  }

  /** Appends `ids` to the lease and gives the logits after each of them, [V] each. Rejects with BAD_LOGITS. */
  async logits(lease: Lease, ids: readonly number[], signal?: AbortSignal): Promise<Float32Array[]> {
    const { model, prefillChunk } = this.options;
    const most = Math.max(1, Math.floor(logitsBytes / (4 * model.config.vocabulary)));
    const rows: Float32Array[] = [];
    await this.scheduler.beside(async () => {
      for (const tokens of chunksOf(ids, Math.min(prefillChunk, most))) {
        const take = (outputs: readonly RowOutput[]) => outputs.map(({ logits }) => logits!.slice());
        const some = await this.appending(lease, tokens, signal, (start) =>
          this.steps.once([rowsOf(lease, start, tokens)], plainMode('logits'), 'all', take, signal),
        );
        await needFiniteLogits(some, rows.length);
        rows.push(...some);
      }
    });
    return rows;
  }

  /**
   * Loads these adapters in place of the present ones; adapter i has place i + 1. No call may hold an adapter that is
   * missing in the list or has another place. A failure changes nothing.
   * @throws BackendError OUT_OF_MEMORY, DISPOSED
   */
  async adapt(adapters: readonly (Adapter | undefined)[]): Promise<void> {
    const isEmpty = adapters.every((adapter) => adapter === undefined);
    this.steps.adapt(isEmpty ? undefined : await loadAdapters(this.options.model.parts, adapters));
  }

  /** Resolves when the folder of offloaded blocks, if any, has all known blocks. */
  save(): Promise<void> {
    return this.blockManager.save();
  }

  dispose(): void {
    this.blockManager.dispose();
    this.scheduler.dispose();
    this.steps.dispose();
  }

  private count({ cachedTokens }: Lease, promptTokens: number): void {
    this.counts.prefixQueries += promptTokens;
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
    lease: Lease,
    tokens: readonly number[],
    signal: AbortSignal | undefined,
    compute: (start: number) => Promise<T>,
  ): Promise<T> {
    const start = lease.tokens.length;
    await this.makeRoom(lease, tokens.length, signal);
    for (const token of tokens) lease.tokens.push(token);
    lease.busy++;
    try {
      const result = await compute(start);
      lease.computed = start + tokens.length;
      return result;
    } catch (error) {
      lease.truncate(start);
      throw error;
    } finally {
      lease.busy--;
    }
  }

  /** Makes room for `count` more tokens. Computes tokens that a preemption took. */
  private async makeRoom(lease: Lease, count: number, signal: AbortSignal | undefined): Promise<void> {
    const nothing = { ids: [], sampling: undefined, most: 0, stops: noStops };
    for (;;) {
      if (!lease.started || lease.missing > 0) await this.scheduler.tokens({ lease, signal, ...nothing });
      if (this.blockManager.growBefore(lease, count)) return;
      this.blockManager.preempt(lease);
    }
  }
}

const rowsOf = ({ sequence, adapters }: Lease, start: number, tokens: readonly number[]): StepRows => ({
  sequence,
  start,
  tokens,
  adapters,
});

/** Consecutive parts of `ids`: `size` tokens each, the last one perhaps shorter. */
const chunksOf = (ids: readonly number[], size: number): (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / size) }, (_, i) => ids.slice(i * size, (i + 1) * size));
