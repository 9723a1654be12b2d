import { onAbort, yieldToEventLoop } from '@quern/core';
import { modelDisposed, RuntimeError } from '../error.js';
import { type Batch, longestChain, rowsOf, sizeOf } from './batch.js';
import { Queue, type QueueOptions } from './queue.js';
import { aborted, endTokensOf, onAbortOfAny, Request, type TokensRequest } from './request.js';
import type { Chain, Runner } from './runner/runner.js';
import { canFeed, modeOf, type SamplingMode } from './sampling/mode.js';
import type { SampledToken } from './sampling/params.js';
import type { RowOutput } from './sampling/record.js';
import { type Schedule, Scheduler, type SchedulerLimits } from './scheduler.js';
import type { Sequence } from './sequence.js';
import { StepTimes } from './step-times.js';

export interface LoopOptions extends QueueOptions, SchedulerLimits {
  readonly runner: Pick<Runner, 'run' | 'canDraw' | 'canChain'>;
  /** Steps submitted at once. */
  readonly plansInFlight: number;
  /** Milliseconds: chains of shorter steps hand over their tokens at their end. Default 0. */
  readonly shortestHanded?: number;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** Up to `count` steps. */
interface ChainWish extends Pick<Chain, 'onTokens'> {
  readonly count: number;
  readonly signal: AbortSignal | undefined;
}

/** Longest chain, in milliseconds: JavaScript sleeps meanwhile, and readers wait for text. */
const wakeUpMilliseconds = 64;

/**
 * Schedules, runs and settles steps, as long as there are requests. A step takes whatever requests there are when it begins;
 * a request joins the next step if it arrives during the running step or in the same turn of the event loop; a step waits for
 * nobody.
 *
 * Chain: where all requests decode and the device chooses all tokens, several steps run without waking JavaScript, as
 * many as fit in `wakeUpMilliseconds` at the speed of the last step. Other work for the device ends the chain after its
 * current step.
 */
export class Loop {
  /** Number of tokens chosen for all requests. */
  chosenTokens = 0;
  /** In order of arrival; at most one per sequence. */
  private readonly requests = new Map<Sequence, Request>();
  private running = false;
  private disposed = false;
  private readonly times = new StepTimes();
  private readonly scheduler: Scheduler;
  private readonly queue: Queue;
  private readonly shared: SharedArrayBuffer;
  /** Of the running chain, whose row i is of request i: see `Chain.limits`. */
  private limits: Int32Array | undefined;
  private chained: readonly Request[] = [];
  /** Number of other tasks on the device. */
  private others = 0;
  /** Steps of prompts under way, oldest first. */
  private readonly inFlight: Promise<void>[] = [];
  private readonly now: () => number;

  constructor(private readonly options: LoopOptions) {
    this.scheduler = new Scheduler(options.blockManager, this.times, options);
    this.queue = new Queue(options, () => this.wake());
    this.shared = new SharedArrayBuffer(4 * options.sequences);
    this.now = options.now ?? (() => performance.now());
  }

  /** Requests whose sequences have blocks. */
  get runningRequests(): number {
    return this.requests.size - this.waiting.length;
  }

  /** Requests that wait for blocks. */
  get waitingRequests(): number {
    return this.waiting.length;
  }

  private get waiting(): readonly Request[] {
    return [...this.requests.values()].filter(({ sequence }) => !sequence.started);
  }

  /**
   * The n ≥ 1 tokens after the request's tokens; the sequence then holds all of them but the last. None for a request
   * without `sampling`. Rejects with ABORTED, BUSY, DISPOSED, BAD_GRAMMAR and errors of the step; the sequence then keeps the tokens that were computed.
   * Masks are found before: a request whose masks take long is in no step meanwhile.
   */
  tokens(wanted: TokensRequest): Promise<readonly SampledToken[]> {
    return new Promise((resolve, reject) => {
      const { sequence, sampling, ids, drafts = 0, signal } = wanted;
      const { capacity } = this.options.blockManager;
      const length = sequence.tokens.length + ids.length;
      if (length > capacity) return reject(tooLong(length, capacity));
      const masks = sampling?.constraint?.masksInTurns(ids.slice(ids.length - drafts), signal);
      const join = (found: Int32Array | undefined) => {
        if (this.disposed) reject(modelDisposed());
        else this.join(new Request(wanted, resolve, reject, found, this.leave));
      };
      if (masks instanceof Promise) masks.then(join, (error) => reject(signal?.aborted ? aborted() : error));
      else join(masks);
    });
  }

  private join(request: Request): void {
    const { sequence } = request;
    sequence.since = performance.now();
    this.requests.set(sequence, request);
    if (this.running) this.endChain();
    else this.wake();
  }

  private readonly leave = (request: Request): void => {
    const { sequence } = request;
    if (this.requests.get(sequence) === request) this.requests.delete(sequence);
  };

  /** Starts steps again, after blocks became free. */
  wake(): void {
    if (this.running || this.requests.size === 0) return;
    this.running = true;
    process.nextTick(this.step);
  }

  /** Runs other work on the device. No chain starts or goes on until the work has ended. */
  async beside<T>(work: () => Promise<T>): Promise<T> {
    this.others++;
    this.endChain();
    try {
      return await work();
    } finally {
      this.others--;
    }
  }

  /** Rejects all requests that are in no step. */
  dispose(): void {
    this.disposed = true;
    for (const request of this.requests.values())
      if (request.sequence.steps === 0) request.fail(modelDisposed());
  }

  /** Runs in a tick, after all promise callbacks: callers that got a token have then requested the next one. */
  private readonly step = async (): Promise<void> => {
    this.dropEnded();
    const { size } = this.requests;
    const schedule = this.schedule();
    const requests = schedule.sequences.map((sequence) => this.requests.get(sequence)!);
    this.announce(schedule); // may end some of them: their rows are computed with the others
    const isChanged = schedule.started.length > 0 || this.requests.size < size;
    if (schedule.batch.length === 0) return this.pause(isChanged);
    const isUnfinished = schedule.sequences.every(({ missing }) => missing > 0);
    const computing = this.compute(schedule, requests, isUnfinished);
    if (isUnfinished && this.options.plansInFlight > 1) await this.goOn(computing);
    else await this.finish(computing);
    process.nextTick(this.step);
  };

  /** An error of the scheduler itself ends all requests. */
  private schedule(): Schedule {
    try {
      return this.scheduler.schedule([...this.requests.keys()], performance.now());
    } catch (error) {
      for (const request of [...this.requests.values()]) request.fail(error);
      return nothing;
    }
  }

  private dropEnded(): void {
    for (const request of this.requests.values())
      if (request.isOver && request.sequence.steps === 0) request.fail(aborted());
  }

  /** Tells the requests what a schedule means for them. */
  private announce({ started, later, isFull }: Schedule): void {
    for (const sequence of started) this.requests.get(sequence)?.started();
    for (const sequence of later) {
      const request = this.requests.get(sequence);
      request?.watch('prefix', () => this.watchAbort(request));
    }
    if (isFull) this.queue.watch(this.waiting.filter(({ sequence }) => !later.includes(sequence)));
  }

  /** Waits for a shared prefix. No step runs for this request, so it watches its signal. */
  private watchAbort(request: Request): () => void {
    const { signal } = request.wanted;
    const end = (): void => {
      request.fail(aborted());
      this.wake();
    };
    return (signal && onAbort(signal, end)) ?? (() => {});
  }

  /** Waits for a step. Steps end in order: none is under way afterwards. */
  private async finish(computing: Promise<void>): Promise<void> {
    await computing;
    this.inFlight.length = 0;
  }

  /** Lets the next step of prompts reach the device while this one runs. */
  private async goOn(computing: Promise<void>): Promise<void> {
    this.inFlight.push(computing);
    if (this.inFlight.length === this.options.plansInFlight) await this.inFlight.shift();
    else await yieldToEventLoop();
  }

  /** Nothing can be computed: the requests of steps under way may go on after them, others when blocks are free. */
  private async pause(isChanged: boolean): Promise<void> {
    const oldest = this.inFlight.shift();
    if (oldest) await oldest;
    else if (!isChanged) {
      this.running = false;
      return;
    }
    process.nextTick(this.step);
  }

  private async compute(
    schedule: Schedule,
    requests: readonly Request[],
    isUnfinished: boolean,
  ): Promise<void> {
    const begin = this.now();
    try {
      const steps = await this.run(schedule, requests, isUnfinished);
      if (this.inFlight.length === 0)
        this.times.learn(rowsOf(schedule.batch), (this.now() - begin) / steps, schedule.depth);
    } catch (error) {
      for (const request of requests) request.fail(error);
    } finally {
      for (const request of requests) request.leaveStep();
    }
  }

  /** Computes and settles a step, or a chain of steps. Returns their number. */
  private async run(
    schedule: Schedule,
    requests: readonly Request[],
    isUnfinished: boolean,
  ): Promise<number> {
    const { runner, blockManager, plansInFlight } = this.options;
    const { batch, sequences } = schedule;
    const finished = requests.filter(({ sequence }) => sequence.missing === 0);
    const mode = modeOf(finished, runner.canDraw);
    const rows = batch.map((each, i) => requests[i]!.withSampling(each));
    const signal = requests.length === 1 ? requests[0]!.wanted.signal : undefined; // others go on
    const count = this.chainLength(schedule, requests, mode);
    if (count > 1) {
      const isHanded = this.stepTime(schedule) >= (this.options.shortestHanded ?? 0);
      return this.chain(rows, requests, mode, { count, signal, ...(isHanded && listenerOf(requests)) });
    }
    const isShared = this.others > 0 || this.requests.size > 1;
    const inOrder = // captured steps overtake others
      sequences.some(({ steps }) => steps > 1) ||
      (isUnfinished && plansInFlight > 1) ||
      (blockManager.hasStates && this.inFlight.length > 0); // a state may be free that a step under way still reads
    await runner.run(rows, (outputs) => this.settle(rows, requests, outputs), {
      mode,
      signal,
      inOrder,
      isShared,
    });
    if (!decodes(batch)) for (const sequence of sequences) if (sequence.started) blockManager.learn(sequence);
    return 1;
  }

  private settle(batch: Batch, requests: readonly Request[], all: readonly RowOutput[]): void {
    let r = 0;
    for (const [i, { start, tokens, outputs }] of batch.entries()) {
      const own = all.slice(r, r + outputs);
      r += outputs;
      const request = requests[i]!;
      if (!request.ended) this.chosenTokens += request.settle(own, start + tokens.length);
    }
  }

  /** Up to `count` steps; returns their number. */
  private async chain(
    batch: Batch,
    requests: readonly Request[],
    mode: SamplingMode,
    { count, signal, onTokens }: ChainWish,
  ): Promise<number> {
    const limits = new Int32Array(this.shared, 0, batch.length).fill(count);
    const end = requests.length > 1 ? onAbortOfAny(requests, this.endChain) : undefined;
    const chain: Chain = { limits, stops: endTokensOf(requests), onTokens };
    this.limits = limits;
    this.chained = requests;
    try {
      const take = (outputs: readonly RowOutput[]): number => {
        const steps = Math.max(...outputs.map(({ best }) => best.length));
        for (const [i, { best }] of outputs.entries()) {
          const request = requests[i]!;
          if (!request.ended) this.chosenTokens += request.settleChain(best, batch[i]!.start, steps);
        }
        return steps;
      };
      return await this.options.runner.run(batch, take, { mode, signal, chain });
    } finally {
      this.limits = undefined;
      this.chained = [];
      end?.();
    }
  }

  /** A running chain computes at most the next token of a sequence. Its request ends with the chain. */
  stop(sequence: Sequence): void {
    const row = this.chained.findIndex((request) => request.sequence === sequence);
    if (row >= 0) Atomics.store(this.limits!, row, 0);
  }

  private readonly endChain = (): void => {
    const { limits } = this;
    if (limits) for (let s = 0; s < limits.length; s++) Atomics.store(limits, s, 0);
  };

  /** Number of steps before JavaScript wakes up. The sequences have room for them. */
  private chainLength(schedule: Schedule, requests: readonly Request[], mode: SamplingMode): number {
    const { batch, sequences } = schedule;
    const canChain = canFeed(mode) && this.options.runner.canChain;
    const isWhole = sizeOf(batch.length) === batch.length; // chains have no idle rows
    if (
      !canChain ||
      !isOneRowEach(batch) ||
      !this.keepsStates(batch) ||
      !isWhole ||
      this.isDeviceWanted(schedule)
    )
      return 1;
    let count = Math.min(longestChain, Math.floor(wakeUpMilliseconds / this.stepTime(schedule)));
    for (const { wanted } of requests) count = Math.min(count, wanted.most);
    return this.growAll(sequences, count - 1) ? Math.max(1, count) : 1;
  }

  /**
   * Whether a chain leaves states right: each step reads what the step before it wrote, and the device computes no step
   * that is then computed again, as those with several plans in flight do.
   */
  private keepsStates(batch: Batch): boolean {
    const isInPlace = ({ states }: Batch[number]) =>
      !states || (states[0] === states[1] && this.options.plansInFlight === 1);
    return batch.every(isInPlace);
  }

  private stepTime({ batch, depth }: Schedule): number {
    return this.times.of(batch.length, depth) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether requests could use the device that are not in the step. Those that wait for blocks could not. */
  private isDeviceWanted({ batch, isFull }: Schedule): boolean {
    const waiting = isFull ? this.waiting.length : 0;
    return this.others > 0 || this.requests.size - waiting > batch.length;
  }

  /** Makes room for `more` tokens of each; false, and no change, where blocks are short. */
  private growAll(sequences: readonly Sequence[], more: number): boolean {
    if (more <= 0) return true;
    for (const [i, sequence] of sequences.entries()) {
      if (this.options.blockManager.grow(sequence, more)) continue;
      for (const { kv } of sequences.slice(0, i)) kv.endAt(kv.length - more);
      return false;
    }
    return true;
  }
}

/** The listener of a chain, where any request takes tokens while they come. */
function listenerOf(requests: readonly Request[]): Pick<Chain, 'onTokens'> {
  if (!requests.some(({ wanted }) => wanted.onToken)) return {};
  return { onTokens: (tokens) => tokens.forEach((token, i) => requests[i]!.takeChained(token)) };
}

/** Whether all rows have outputs. */
const decodes = (batch: Batch): boolean => batch.every(({ tokens, outputs }) => tokens.length === outputs);

const isOneRowEach = (batch: Batch): boolean =>
  batch.every(({ tokens, outputs }) => tokens.length === 1 && outputs === 1);

const nothing: Schedule = { batch: [], sequences: [], depth: 0, started: [], later: [], isFull: false };

const tooLong = (length: number, capacity: number) =>
  new RuntimeError(
    'BAD_ARGUMENT',
    `a sequence of ${length} tokens is longer than the cache allows: ${capacity} tokens`,
  );
