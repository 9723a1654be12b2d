import {
  type DecodeHead,
  DecodeMember,
  type DecodeRequest,
  headOf,
  onAbortOfAny,
  stopsOf,
} from './decode-member.js';
import type { ForwardSteps } from './forward-steps.js';
import { longestChain } from './longest-chain.js';
import type { RowOutput } from './step-output.js';

/**
 * Most rows of one step. With `profile.exactRows` ≥ this number, a sequence gives the same text in a batch as alone.
 */
export const mostDecodeRows = 16;

/** Longest chain, in milliseconds: JavaScript sleeps meanwhile, and readers wait for text. */
const wakeUpMilliseconds = 64;

/**
 * Sequences that decode concurrently share steps. A request joins the next step if it arrives during the running step
 * or in the same turn of the event loop; a step waits for nobody. More requests than `mostDecodeRows`: first come,
 * first served.
 *
 * Chain: where the device chooses all tokens, several steps run without waking JavaScript, as many as fit in
 * `wakeUpMilliseconds` at the speed of the last step. Other work for the device ends the chain after its current step.
 */
export class DecodeBatch {
  private readonly waiting: DecodeMember[] = [];
  private running = false;
  /** [rows]: time of one step, from the last step with this number of rows. */
  private readonly milliseconds = new Float64Array(mostDecodeRows + 1).fill(Number.POSITIVE_INFINITY);
  private readonly shared = new SharedArrayBuffer(4 * mostDecodeRows);
  /** [rows of the running chain]: see `ChainOptions.limits`. */
  private limits: Int32Array | undefined;
  /** Number of other tasks on the device. */
  private others = 0;

  /** @param now milliseconds */
  constructor(
    private readonly steps: Pick<ForwardSteps, 'run' | 'chain' | 'canDraw' | 'canChain'>,
    private readonly now = () => performance.now(),
  ) {}

  /**
   * The n ≥ 1 tokens after a sequence's last one; the sequence then holds all of them but the last. Rejects with
   * ABORTED and with errors of the step; the sequence is then as before.
   */
  next(request: DecodeRequest): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push(new DecodeMember(request, resolve, reject));
      if (this.running) return this.endChain();
      this.running = true;
      process.nextTick(this.step);
    });
  }

  /** Whether sequences decode. */
  get busy(): boolean {
    return this.running;
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

  /** Runs in a tick, after all promise callbacks: callers that got a token have then requested the next one. */
  private readonly step = async (): Promise<void> => {
    const waiting = this.waiting.splice(0, mostDecodeRows);
    this.running = waiting.length > 0;
    if (!this.running) return;
    const head = headOf(waiting, this.steps.canDraw);
    const count = this.chainLength(waiting, head);
    const members = waiting.filter((member) => member.grow(count));
    if (members.length > 0) await this.compute(members, head, count);
    process.nextTick(this.step);
  };

  private async compute(members: readonly DecodeMember[], head: DecodeHead, count: number): Promise<void> {
    const begin = this.now();
    try {
      const steps =
        count > 1 && head !== 'ranked'
          ? await this.chain(members, head, count)
          : await this.once(members, head);
      this.milliseconds[members.length] = (this.now() - begin) / steps;
    } catch (error) {
      for (const member of members) member.fail(error);
    }
  }

  /** One step; returns 1. */
  private once(members: readonly DecodeMember[], head: DecodeHead): Promise<number> {
    const settle = (rows: readonly RowOutput[]) => {
      for (let i = 0; i < members.length; i++) members[i]!.settle(rows[i]!);
      return 1;
    };
    return this.steps.run(members, head, settle, signalOf(members));
  }

  /** Up to `count` steps; returns their number. */
  private async chain(
    members: readonly DecodeMember[],
    head: Exclude<DecodeHead, 'ranked'>,
    count: number,
  ): Promise<number> {
    const limits = new Int32Array(this.shared, 0, members.length).fill(count);
    const end = members.length > 1 ? onAbortOfAny(members, this.endChain) : undefined;
    this.limits = limits;
    try {
      const options = { head, limits, stops: stopsOf(members), signal: signalOf(members) };
      const found = await this.steps.chain(members, options);
      for (let i = 0; i < members.length; i++) members[i]!.settleChain(found[i]!);
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

  /** Number of steps before JavaScript wakes up. */
  private chainLength(members: readonly DecodeMember[], head: DecodeHead): number {
    const deviceIsWanted = this.others > 0 || this.waiting.length > 0;
    if (head === 'ranked' || deviceIsWanted || !this.steps.canChain) return 1;
    let count = Math.min(longestChain, Math.floor(wakeUpMilliseconds / this.milliseconds[members.length]!));
    for (const { request } of members) count = Math.min(count, request.most);
    return Math.max(1, count);
  }
}

/** The signal that aborts a step: of the only member. A step of several members goes on for the others. */
const signalOf = (members: readonly DecodeMember[]): AbortSignal | undefined =>
  members.length === 1 ? members[0]!.request.signal : undefined;
