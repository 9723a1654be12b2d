import type { KvSequence } from '@quern/core';
import { RuntimeError } from '../error.js';
import { type Draws, noToken } from '../sampling/draws.js';
import type { ForwardSteps } from './forward-steps.js';
import { longestChain } from './longest-chain.js';
import type { Head, RowOutput } from './step-output.js';
import type { TokenChoice } from './token-choice.js';

/** Most rows of one step. A backend with as many `profile.exactRows` gives each sequence the text that it has alone. */
export const mostDecodeRows = 16;

/** How long JavaScript may sleep while several tokens are computed: short enough for text to flow, and for others who wait to begin. */
const wakeUpMilliseconds = 64;

/** What a sequence waits for. */
export interface DecodeRequest {
  readonly sequence: KvSequence;
  /** The last token, which the sequence does not hold yet. */
  readonly token: number;
  readonly choice: TokenChoice;
  /** Most tokens that are wanted now: more than one only where nothing else waits for the device. */
  readonly most: number;
  /** Tokens that end the text. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
}

interface Member extends DecodeRequest {
  readonly tokens: readonly number[];
  readonly draws: Draws | undefined;
  /** Where the token goes, once there is room for it. */
  start: number;
  resolve(tokens: readonly number[]): void;
  reject(error: unknown): void;
}

/**
 * Sequences that decode at the same time share their steps. Whoever asks while a step runs, or in the same turn of the event
 * loop, is in the next; nobody is waited for. First come, first served where there are more than a step takes. Where the device
 * chooses all tokens, it goes on by itself for as many steps as, at the speed of the last, take a few milliseconds.
 */
export class DecodeBatch {
  private readonly waiting: Member[] = [];
  private running = false;
  /** Of the last step of so many rows. */
  private readonly milliseconds = new Float64Array(mostDecodeRows + 1).fill(Number.POSITIVE_INFINITY);

  constructor(private readonly steps: Pick<ForwardSteps, 'run' | 'chain' | 'canDraw' | 'longestChainOf'>) {}

  /**
   * The tokens after the last one of a sequence, at least one: the sequence then holds all but the last of them. Rejects with
   * ABORTED, and as the step does; then the sequence is as it was.
   */
  next(request: DecodeRequest): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      const { token, choice } = request;
      this.waiting.push({ ...request, tokens: [token], draws: choice.draws, start: 0, resolve, reject });
      if (this.running) return;
      this.running = true;
      process.nextTick(this.step);
    });
  }

  /** A tick comes after all that promises have set going: those who have just got a token and want another have asked. */
  private readonly step = async (): Promise<void> => {
    const waiting = this.gather();
    this.running = waiting.length > 0;
    if (!this.running) return;
    const head = headOf(waiting, this.steps.canDraw);
    const count = this.affordable(waiting, head);
    const members = waiting.filter((member) => grow(member, count));
    const begin = performance.now();
    try {
      const steps = members.length > 0 ? await this.run(members, head, count) : 1;
      this.milliseconds[members.length] = (performance.now() - begin) / steps;
    } catch (error) {
      for (const member of members) fail(member, error);
    }
    process.nextTick(this.step);
  };

  /** Gives the number of steps. */
  private async run(members: readonly Member[], head: DecodeHead, count: number): Promise<number> {
    // a step of several goes on for the others when one is aborted
    const signal = members.length === 1 ? members[0]!.signal : undefined;
    if (head === 'ranked' || count === 1) {
      const settleAll = (rows: readonly RowOutput[]) =>
        members.forEach((member, i) => settle(member, rows[i]!));
      await this.steps.run(members, head, settleAll, signal);
      return 1;
    }
    const found = await this.steps.chain(members, { head, count, stops: stopsOf(members, head), signal });
    for (let i = 0; i < members.length; i++) settleChain(members[i]!, found[i]!);
    return Math.max(...found.map(({ length }) => length));
  }

  /** Those of the next step, without those who have given up. */
  private gather(): Member[] {
    const members: Member[] = [];
    while (this.waiting.length > 0 && members.length < mostDecodeRows) {
      const member = this.waiting.shift()!;
      if (member.signal?.aborted) member.reject(aborted());
      else members.push(member);
    }
    return members;
  }

  /** Steps until JavaScript wakes up. */
  private affordable(members: readonly Member[], head: DecodeHead): number {
    if (head === 'ranked') return 1;
    let count = Math.min(longestChain, Math.floor(wakeUpMilliseconds / this.milliseconds[members.length]!));
    for (const { most } of members) count = Math.min(count, most);
    return Math.max(1, Math.min(count, this.steps.longestChainOf(members)));
  }
}

type DecodeHead = Head & ('argmax' | 'sampled' | 'ranked');

/** The least that gives every member its token. */
function headOf(members: readonly Member[], canDraw: boolean): DecodeHead {
  if (members.every(({ choice }) => choice.head === 'argmax')) return 'argmax';
  const deviceDraws = canDraw && members.every(({ choice, draws }) => choice.head === 'argmax' || draws);
  return deviceDraws ? 'sampled' : 'ranked';
}

/** Makes room for `count` tokens; false where there is none, which is the member's own affair. */
function grow(member: Member, count: number): boolean {
  member.start = member.sequence.length;
  try {
    member.sequence.append(count);
    return true;
  } catch (error) {
    member.reject(error);
    return false;
  }
}

/** The tokens that end a chain: those of any member, and that of a row that cannot be drawn from. */
function stopsOf(members: readonly Member[], head: DecodeHead): Int32Array {
  const stops = members.flatMap((member) => [...member.stops]);
  return Int32Array.from(head === 'sampled' ? [...stops, noToken] : stops);
}

function settle(member: Member, row: RowOutput): void {
  try {
    if (member.signal?.aborted) throw aborted();
    member.resolve([member.choice.take(row)]);
  } catch (error) {
    fail(member, error);
  }
}

function settleChain(member: Member, found: Int32Array): void {
  try {
    if (member.signal?.aborted) throw aborted();
    const tokens = taken(found, member.draws);
    member.sequence.truncate(member.start + tokens.length);
    member.resolve(tokens);
  } catch (error) {
    fail(member, error);
  }
}

/** The tokens that were chosen. Where the first draw found none that is an error; where a later one did, it is the next step's. */
function taken(found: Int32Array, draws: Draws | undefined): readonly number[] {
  const tokens = found.length > 1 && found.at(-1) === noToken ? found.subarray(0, -1) : found;
  return draws ? Array.from(tokens, (token) => draws.take(token)) : [...tokens];
}

function fail({ sequence, start, reject }: Member, error: unknown): void {
  sequence.truncate(Math.min(start, sequence.length));
  reject(error);
}

const aborted = () => new RuntimeError('ABORTED', 'aborted while a token was computed');
