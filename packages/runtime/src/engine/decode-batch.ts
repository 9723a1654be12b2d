import { RuntimeError } from '../error.js';
import type { DecodeRow } from './decode-graph.js';
import type { DecodeSteps } from './decode-steps.js';
import type { Head, RowOutput } from './step-output.js';
import type { TokenChoice } from './token-choice.js';

/** Most rows of one step. A backend with as many `profile.exactRows` gives each sequence the text that it has alone. */
export const mostDecodeRows = 16;

/** A sequence that waits for its next token. */
interface Member extends DecodeRow {
  readonly choice: TokenChoice;
  readonly signal: AbortSignal | undefined;
  resolve(token: number): void;
  reject(error: unknown): void;
}

/**
 * Sequences that decode at the same time share their steps. Whoever asks while a step runs, or in the same turn of the event
 * loop, is in the next; nobody is waited for. First come, first served where there are more than a step takes.
 */
export class DecodeBatch {
  private readonly waiting: Member[] = [];
  private running = false;

  constructor(private readonly steps: Pick<DecodeSteps, 'run'>) {}

  /** The token that `choice` takes after the last one of a sequence. Rejects with ABORTED, and as the step does. */
  next(
    { sequence, token }: DecodeRow,
    choice: TokenChoice,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ sequence, token, draws: choice.draws, choice, signal, resolve, reject });
      if (this.running) return;
      this.running = true;
      process.nextTick(this.step);
    });
  }

  /** A tick comes after all that promises have set going: those who have just got a token and want another have asked. */
  private readonly step = async (): Promise<void> => {
    const members = this.gather();
    this.running = members.length > 0;
    if (!this.running) return;
    // a step of several goes on for the others when one is aborted
    const signal = members.length === 1 ? members[0]!.signal : undefined;
    try {
      const rows = await this.steps.run(members, headOf(members), signal);
      for (let i = 0; i < members.length; i++) settle(members[i]!, rows[i]!);
    } catch (error) {
      for (const { reject } of members) reject(error);
    }
    process.nextTick(this.step);
  };

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
}

/** The least that gives every member its token. */
function headOf(members: readonly Member[]): Head {
  if (members.every(({ choice }) => choice.head === 'argmax')) return 'argmax';
  return members.every(({ choice, draws }) => choice.head === 'argmax' || draws) ? 'sampled' : 'ranked';
}

function settle({ choice, signal, resolve, reject }: Member, row: RowOutput): void {
  try {
    if (signal?.aborted) throw aborted();
    resolve(choice.take(row));
  } catch (error) {
    reject(error);
  }
}

const aborted = () => new RuntimeError('ABORTED', 'aborted while a token was computed');
