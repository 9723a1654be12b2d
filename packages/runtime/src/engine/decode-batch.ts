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

/** Most rows of one step. A backend with as many `profile.exactRows` gives each sequence the text that it has alone. */
export const mostDecodeRows = 16;

/** How long JavaScript may sleep while several tokens of each row are computed: text flows, and readers are not kept waiting. */
const wakeUpMilliseconds = 64;

/**
 * Sequences that decode at the same time share their steps. Whoever asks while a step runs, or in the same turn of the event
 * loop, is in the next; nobody is waited for. First come, first served where there are more than a step takes.
 *
 * Where the device chooses all tokens, it takes several steps without waking JavaScript: a chain, of as many steps as take a few
 * milliseconds at the speed of the last. A chain ends with its present step when anything else wants the device.
 */
export class DecodeBatch {
  private readonly waiting: DecodeMember[] = [];
  private running = false;
  /** Of the last step of so many rows. */
  private readonly milliseconds = new Float64Array(mostDecodeRows + 1).fill(Number.POSITIVE_INFINITY);
  private readonly shared = new SharedArrayBuffer(4 * mostDecodeRows);
  /** Of the rows of the chain that runs. */
  private limits: Int32Array | undefined;
  /** Other work of the device that is under way. */
  private others = 0;

  /** @param now milliseconds */
  constructor(
    private readonly steps: Pick<ForwardSteps, 'run' | 'chain' | 'canDraw' | 'canChain'>,
    private readonly now = () => performance.now(),
  ) {}

  /**
   * The tokens after the last one of a sequence, at least one: the sequence then holds all but the last of them. Rejects with
   * ABORTED, and as the step does; then the sequence is as it was.
   */
  next(request: DecodeRequest): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push(new DecodeMember(request, resolve, reject));
      if (this.running) return this.endChain();
      this.running = true;
      process.nextTick(this.step);
    });
  }

  /** Does other work of the device: until it has ended, no chain keeps it waiting. */
  async beside<T>(work: () => Promise<T>): Promise<T> {
    this.others++;
    this.endChain();
    try {
      return await work();
    } finally {
      this.others--;
    }
  }

  /** A tick comes after all that promises have set going: those who have just got a token and want another have asked. */
  private readonly step = async (): Promise<void> => {
    const waiting = this.waiting.splice(0, mostDecodeRows);
    this.running = waiting.length > 0;
    if (!this.running) return;
    const head = headOf(waiting, this.steps.canDraw);
    const count = this.affordable(waiting, head);
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

  /** One step; gives 1. */
  private once(members: readonly DecodeMember[], head: DecodeHead): Promise<number> {
    const settle = (rows: readonly RowOutput[]) => {
      for (let i = 0; i < members.length; i++) members[i]!.settle(rows[i]!);
      return 1;
    };
    return this.steps.run(members, head, settle, signalOf(members));
  }

  /** Up to `count` steps; gives their number. */
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

  /** Steps until JavaScript wakes up. */
  private affordable(members: readonly DecodeMember[], head: DecodeHead): number {
    const hurries = this.others > 0 || this.waiting.length > 0;
    if (head === 'ranked' || hurries || !this.steps.canChain) return 1;
    let count = Math.min(longestChain, Math.floor(wakeUpMilliseconds / this.milliseconds[members.length]!));
    for (const { request } of members) count = Math.min(count, request.most);
    return Math.max(1, count);
  }
}

/** What aborts a step: the signal of one alone. A step of several goes on for the others. */
const signalOf = (members: readonly DecodeMember[]): AbortSignal | undefined =>
  members.length === 1 ? members[0]!.request.signal : undefined;
