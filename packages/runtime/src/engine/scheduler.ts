import { yieldToEventLoop } from '@quern/core';
import { RuntimeError } from '../error.js';
import { type ChosenRows, RowChoice, rowsOf } from './choose-rows.js';
import type { ForwardSteps } from './forward-steps.js';
import { withIdleRows } from './idle-rows.js';
import { longestChain } from './longest-chain.js';
import { aborted, Member, onAbortOfAny, stopsOf, type TokensRequest } from './member.js';
import { canFeed, modeOf, type SamplingMode } from './sampling/mode.js';
import type { SampledToken } from './sampling/params.js';
import type { RowOutput } from './sampling/record.js';
import { StepTimes } from './step-times.js';
import { WaitingCalls, type WaitingOptions, waitingOf } from './waiting-calls.js';

export interface SchedulerOptions extends WaitingOptions {
  readonly steps: Pick<ForwardSteps, 'run' | 'prompt' | 'once' | 'mixed' | 'chain' | 'canDraw' | 'canChain'>;
  /** Most sequences of a step, and most rows of those that decode. */
  readonly sequences: number;
  /** Most prompt tokens of a step. */
  readonly prefillChunk: number;
  /** See `StepLimits.alone`. */
  readonly alone: boolean;
  /** Steps submitted at once. */
  readonly plansInFlight: number;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** Longest chain, in milliseconds: JavaScript sleeps meanwhile, and readers wait for text. */
const wakeUpMilliseconds = 64;
/** Most rows of a chain. */
const mostChainRows = 16;

/**
 * Computes the requests of all calls in shared steps. A step takes whatever requests there are when it begins: one
 * token of each sequence that decodes, with its drafts, and tokens of prompts (`RowChoice`). A request joins the next
 * step if it arrives during the running step or in the same turn of the event loop; a step waits for nobody.
 *
 * Chain: where all requests decode and the device chooses all tokens, several steps run without waking JavaScript, as
 * many as fit in `wakeUpMilliseconds` at the speed of the last step. Other work for the device ends the chain after its
 * current step.
 */
export class Scheduler {
  /** Number of tokens chosen for all calls. */
  chosenTokens = 0;
  private members: Member[] = [];
  private running = false;
  private disposed = false;
  private readonly times = new StepTimes();
  private readonly rows: RowChoice;
  private readonly waiting: WaitingCalls;
  private readonly shared = new SharedArrayBuffer(4 * mostChainRows);
  /** [rows of the running chain]: see `ChainOptions.limits`. */
  private limits: Int32Array | undefined;
  /** Number of other tasks on the device. */
  private others = 0;
  /** Prompt steps under way, oldest first. */
  private readonly inFlight: Promise<void>[] = [];
  private readonly now: () => number;

  constructor(private readonly options: SchedulerOptions) {
    this.rows = new RowChoice(options.blockManager, this.times, options);
    this.waiting = new WaitingCalls(options, () => this.wake());
    this.now = options.now ?? (() => performance.now());
  }

  /** Calls that have blocks and wait for tokens. */
  get runningCalls(): number {
    return this.members.filter(({ lease, ended }) => lease.started && !ended).length;
  }

  /** Calls that wait for blocks. */
  get waitingCalls(): number {
    return waitingOf(this.members).length;
  }

  /**
   * The n ≥ 1 tokens after the request's tokens; the lease then holds all of them but the last. None for a request
   * without `sampling`. Rejects with ABORTED, BUSY, DISPOSED, BAD_GRAMMAR and errors of the step; the lease is then as before.
   * Masks are found before: a request whose masks take long is in no step meanwhile.
   */
  tokens(request: TokensRequest): Promise<readonly SampledToken[]> {
    return new Promise((resolve, reject) => {
      const { sampling, ids, drafts = 0, signal } = request;
      const masks = sampling?.constraint?.masksInTurns(ids.slice(ids.length - drafts), signal);
      const join = (found: Int32Array | undefined) => {
        if (this.disposed) reject(modelDisposed());
        else this.join(new Member(request, resolve, reject, performance.now(), found));
      };
      if (masks instanceof Promise) masks.then(join, (error) => reject(signal?.aborted ? aborted() : error));
      else join(masks);
    });
  }

  private join(member: Member): void {
    this.members.push(member);
    if (this.running) this.endChain();
    else this.wake();
  }

  /** Starts steps again, after blocks became free. */
  wake(): void {
    if (this.running || this.members.length === 0) return;
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
    for (const member of this.members) if (member.lease.busy === 0) member.fail(modelDisposed());
  }

  /** Runs in a tick, after all promise callbacks: callers that got a token have then requested the next one. */
  private readonly step = async (): Promise<void> => {
    this.dropEnded();
    const chosen = this.rows.choose(this.members, performance.now());
    if (this.rows.isFull) this.waiting.watch(waitingOf(this.members));
    if (chosen.length === 0) return this.pause();
    const isPart = chosen.every(({ member: { lease } }) => lease.missing > 0);
    const computing = this.compute(chosen, isPart);
    if (isPart && this.options.plansInFlight > 1) await this.goOn(computing);
    else await this.finish(computing);
    process.nextTick(this.step);
  };

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
  private async pause(): Promise<void> {
    const oldest = this.inFlight.shift();
    if (!oldest) {
      this.running = false;
      if (this.members.some(({ ended }) => ended)) this.wake();
      return;
    }
    await oldest;
    process.nextTick(this.step);
  }

  private dropEnded(): void {
    for (const member of this.members) if (member.isOver && member.lease.busy === 0) member.fail(aborted());
    this.members = this.members.filter(({ ended }) => !ended);
  }

  private async compute(chosen: readonly ChosenRows[], isPart: boolean): Promise<void> {
    const begin = this.now();
    const rows = rowsOf(chosen);
    try {
      const steps = recurs(chosen) ? await this.decode(chosen) : await this.prompts(chosen, isPart);
      if (this.inFlight.length === 0) this.times.learn(rows, (this.now() - begin) / steps);
    } catch (error) {
      for (const { member } of chosen) member.fail(error);
    } finally {
      for (const { member } of chosen) member.leaveStep();
    }
  }

  /** One row per sequence, or one sequence with drafts. Returns the number of steps: a chain has several. */
  private decode(chosen: readonly ChosenRows[]): Promise<number> {
    const mode = modeOf(membersOf(chosen), this.options.steps.canDraw);
    const count = this.chainLength(chosen, mode);
    if (count > 1) return this.chain(chosen, mode, count);
    const take = (rows: readonly RowOutput[]) => this.settle(chosen, rows);
    return this.options.steps.run(withIdleRows(batchOf(chosen)), mode, take, signalOf(chosen));
  }

  /** Prompts, perhaps with rows of sequences that decode. Returns 1. */
  private async prompts(chosen: readonly ChosenRows[], isPart: boolean): Promise<number> {
    const { steps, blockManager, plansInFlight } = this.options;
    const finished = membersOf(chosen).filter(({ lease }) => lease.missing === 0);
    const mode = modeOf(finished, steps.canDraw);
    const take = (rows: readonly RowOutput[]) => this.settle(chosen, rows);
    const batch = batchOf(chosen);
    const signal = signalOf(chosen);
    const keepsOrder = followsOthers(chosen) || (isPart && plansInFlight > 1); // captured steps overtake others
    if (keepsOrder) await steps.once(batch, mode, mode.kind === 'none' ? 'none' : 'last', take, signal);
    else if (batch.length > 1) await steps.mixed(batch, mode, take, signal);
    else await steps.prompt(batch[0]!, mode, this.others > 0 || this.members.length > 1, take, signal);
    for (const { member } of chosen) if (member.lease.started) blockManager.learn(member.lease);
    return 1;
  }

  private settle(chosen: readonly ChosenRows[], rows: readonly RowOutput[]): number {
    let r = 0;
    for (const { member, start, count } of chosen) {
      const outputs = rows.slice(r, r + member.outputs);
      r += member.outputs;
      if (!member.ended) this.chosenTokens += member.settle(outputs, start + count);
    }
    return 1;
  }

  /** Up to `count` steps; returns their number. */
  private async chain(chosen: readonly ChosenRows[], mode: SamplingMode, count: number): Promise<number> {
    const members = membersOf(chosen);
    const limits = new Int32Array(this.shared, 0, chosen.length).fill(count);
    const end = members.length > 1 ? onAbortOfAny(members, this.endChain) : undefined;
    this.limits = limits;
    try {
      const options = { mode, limits, stops: stopsOf(members), signal: signalOf(chosen) };
      const found = await this.options.steps.chain(batchOf(chosen), options);
      for (let i = 0; i < members.length; i++)
        this.chosenTokens += members[i]!.settleChain(found[i]!, chosen[i]!.start);
      return Math.max(...found.map(({ length }) => length));
    } finally {
      this.limits = undefined;
      end?.();
    }
  }

  private readonly endChain = (): void => {
    const { limits } = this;
    if (limits) for (let s = 0; s < limits.length; s++) Atomics.store(limits, s, 0);
  };

  /** Number of steps before JavaScript wakes up. The sequences have room for them. */
  private chainLength(chosen: readonly ChosenRows[], mode: SamplingMode): number {
    const deviceIsWanted = this.others > 0 || this.members.length > chosen.length;
    const { steps } = this.options;
    const canChain = canFeed(mode) && steps.canChain;
    const hasDrafts = rowsOf(chosen) > chosen.length;
    if (!canChain || hasDrafts || deviceIsWanted || chosen.length > mostChainRows) return 1;
    const time = this.times.of(chosen.length) ?? Number.POSITIVE_INFINITY;
    let count = Math.min(longestChain, Math.floor(wakeUpMilliseconds / time));
    for (const { member } of chosen) count = Math.min(count, member.request.most);
    return this.growAll(chosen, count - 1) ? Math.max(1, count) : 1;
  }

  /** Makes room for `more` tokens of each; false, and no change, where blocks are short. */
  private growAll(chosen: readonly ChosenRows[], more: number): boolean {
    if (more <= 0) return true;
    for (const [i, { member }] of chosen.entries()) {
      if (this.options.blockManager.grow(member.lease, more)) continue;
      for (const { member: grown, start } of chosen.slice(0, i)) grown.lease.sequence.truncate(start + 1);
      return false;
    }
    return true;
  }
}

/** Whether all rows have outputs, in a shape that recurs: one per sequence, or one sequence with drafts. */
const recurs = (chosen: readonly ChosenRows[]): boolean =>
  !followsOthers(chosen) &&
  chosen.every(({ member, count }) => count === member.outputs && (count === 1 || chosen.length === 1));

/** Whether steps under way compute earlier tokens of the same sequences. */
const followsOthers = (chosen: readonly ChosenRows[]): boolean =>
  chosen.some(({ member }) => member.lease.busy > 1);

const membersOf = (chosen: readonly ChosenRows[]): Member[] => chosen.map(({ member }) => member);

const batchOf = (chosen: readonly ChosenRows[]) =>
  chosen.map(({ member, start, count }) => member.rowsFrom(start, count));

/** The signal that aborts a step: of the only member. A step of several members goes on for the others. */
const signalOf = (chosen: readonly ChosenRows[]): AbortSignal | undefined =>
  chosen.length === 1 ? chosen[0]!.member.request.signal : undefined;

const modelDisposed = () => new RuntimeError('DISPOSED', 'the model has been disposed');
