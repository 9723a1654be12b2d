import type { BlockManager } from './block-manager.js';
import { callersOf, type Need, needsOf, placesOf, Shares, setTurns } from './callers.js';
import type { Member } from './member.js';
import type { StepTimes } from './step-times.js';

/** Rows of a request in a step: `count` tokens from position `start` on. */
export interface ChosenRows {
  readonly member: Member;
  readonly start: number;
  readonly count: number;
}

export interface StepLimits {
  /** Most sequences of a step, and most rows of those that decode. */
  readonly sequences: number;
  /** Most prompt tokens of a step. */
  readonly prefillChunk: number;
  /**
   * Steps never mix prompts and decoding, and a prompt has a step of its own; what a preemption took is computed in the
   * same steps again. In a step of up to `sequences` rows, each row has the bits that it has alone.
   */
  readonly alone: boolean;
}

/** Milliseconds for which another caller is expected to come again. */
const recentMs = 1000;
/**
 * A step with tokens of one prompt may take this many times as long as one without: those who decode wait for it.
 * Several prompts may take longer, by their number per sequence that decodes: then more callers wait for prompts.
 */
const patience = 1.8;
const patiencePerPrompt = 8;
/** How many times as long as a quiet step one with tokens of `prompts` prompts may take beside `decoding` rows. */
const patienceOf = (decoding: number, prompts: number): number =>
  patience + (patiencePerPrompt * (prompts - 1)) / decoding;
/** Beside decoding, a step has at least this many prompt tokens: with 16, steps at a depth of 4000 take three quiet ones. */
const fewestPromptRows = 8;
/** A request that has waited this long goes before all priorities. */
const overdueMs = 10_000;

/**
 * The rows of the next step: one token of every sequence that decodes, with its drafts; then tokens of prompts, as many
 * as the time of a step allows. Their sequences have room for them. Requests without rows wait: for blocks, or for another call that
 * computes the same beginning.
 */
export class RowChoice {
  /** Whether the last choice left out a request because blocks were short. */
  isFull = false;
  /** Whether the last step was a prompt's, if steps never mix. */
  private lastWasPrompt = false;
  /** See `countCallers`. */
  private callers = 1;
  /** See `shareRows`. */
  private shares: Shares | undefined;
  /** When several callers last shared the steps, in milliseconds. */
  private sharedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly blockManager: BlockManager,
    private readonly times: StepTimes,
    private readonly limits: StepLimits,
  ) {}

  /** @param members in order of their requests */
  choose(members: readonly Member[], now: number): readonly ChosenRows[] {
    for (;;) {
      const { preemptions } = this.blockManager;
      const chosen = this.chooseOnce(members, now);
      if (chosen.length > 0 || this.blockManager.preemptions === preemptions) return chosen; // else others have room now
    }
  }

  private chooseOnce(members: readonly Member[], now: number): readonly ChosenRows[] {
    this.isFull = false;
    this.callers = this.countCallers(members, now);
    this.shares = this.shareRows(members);
    if (this.blockManager.hasGroups) {
      const waiting = members.filter(({ lease }) => !lease.started);
      setTurns(
        [...this.blockManager.holders],
        waiting.map(({ lease }) => lease),
      );
    }
    if (this.callers > 1) this.beginFirst(members, now);
    if (this.limits.alone) return this.chooseAlone(members, now);
    const decoding = this.decodingRows(members);
    return decoding.length === members.length ? decoding : this.addPrompts(decoding, members, now);
  }

  /** Decoding or one prompt, in turns. */
  private chooseAlone(members: readonly Member[], now: number): readonly ChosenRows[] {
    const turns = [() => this.decodingRows(members), () => this.addPrompts([], members, now)];
    if (!this.lastWasPrompt) turns.reverse();
    for (const choose of turns) {
      const chosen = choose();
      if (chosen.length === 0) continue;
      this.lastWasPrompt = choose === turns[this.lastWasPrompt ? 1 : 0];
      return chosen;
    }
    return [];
  }

  private decodingRows(members: readonly Member[]): ChosenRows[] {
    const { alone } = this.limits;
    const decoding = members.filter(({ decodes }) => decodes);
    const sequences = this.decodingSequences(decoding);
    const chosen: ChosenRows[] = [];
    let rows = 0;
    for (const member of inOrder(decoding, this.callers > 1)) {
      if (rows >= sequences) break;
      const { outputs } = member;
      const isFirst = chosen.length === 0;
      const fits = isFirst || rows + outputs <= sequences;
      const suits = !alone || isFirst || isAdapted(chosen[0]!.member) === isAdapted(member);
      const isDue = !this.shares || this.shares.allows(member.lease, outputs);
      if (!(fits && suits && isDue && member.decodes && this.add(chosen, member, outputs))) continue;
      rows += outputs;
      this.shares?.take(member.lease, outputs);
    }
    return chosen;
  }

  /** Most sequences that decode: beside a group, callers with prompts alone have a place too. */
  private decodingSequences(decoding: readonly Member[]): number {
    const { sequences } = this.limits;
    if (this.callers === 1) return sequences;
    return Math.max(1, sequences - Math.max(0, this.callers - callersOf(decoding)));
  }

  /** Callers that share the steps, those that did a moment ago included; 1 where no calls have groups. */
  private countCallers(members: readonly Member[], now: number): number {
    if (!this.blockManager.hasGroups) {
      this.sharedAt = now; // a group that comes next is not alone
      return 1;
    }
    const callers = callersOf(members);
    if (callers > 1) this.sharedAt = now;
    return now - this.sharedAt < recentMs ? Math.max(2, callers) : callers;
  }

  /**
   * Beside a group: the rows of the next step, divided among the callers. The step takes no longer than any of them would let it
   * take alone; one that was here a moment ago counts as a row.
   */
  private shareRows(members: readonly Member[]): Shares | undefined {
    const { callers, times } = this;
    if (callers === 1) return undefined;
    const { sequences, prefillChunk } = this.limits;
    const needs = needsOf(members);
    const longest = Math.min(...[...needs.values()].map((need) => this.longestStep(need)));
    const mostTime = needs.size < callers ? Math.min(longest, patience * times.atLeast(callers)) : longest;
    return new Shares(
      needs,
      times.mostRows(mostTime, Math.max(callers, fewestPromptRows), sequences + prefillChunk),
    );
  }

  /** Milliseconds of a step that a caller would accept alone, beside a row of each other one. */
  private longestStep({ tokens, decoding, prompts }: Need): number {
    const { callers, times } = this;
    const { sequences, prefillChunk } = this.limits;
    if (decoding === 0) return patience * times.atLeast(Math.min(tokens, prefillChunk) + callers - 1);
    const rows = Math.min(decoding, sequences);
    return times.atLeast(rows + callers - 1) * patienceOf(rows, Math.max(1, prompts));
  }

  private addPrompts(chosen: ChosenRows[], members: readonly Member[], now: number): ChosenRows[] {
    const prompts = members.filter((member) => !member.decodes && !member.computesAll);
    const shares = this.limits.alone ? undefined : this.shares;
    let left = shares ? this.limits.prefillChunk : this.promptRows(rowsOf(chosen), prompts.length);
    for (const member of prompts.sort(byTurn(now))) {
      if (left <= 0 || chosen.length === this.limits.sequences) break;
      const most = shares ? Math.min(left, shares.of(member.lease)) : left;
      if (most === 0) continue;
      member.dropDrafts();
      const starts = member.lease.started || this.begin(member);
      if (!starts || member.ended) continue;
      const count = this.promptCount(member, most);
      if (!this.add(chosen, member, count)) continue;
      left -= count;
      shares?.take(member.lease, count);
      if (this.limits.alone) break;
    }
    return chosen;
  }

  private promptCount({ lease }: Member, left: number): number {
    const { alone, sequences } = this.limits;
    const count = Math.min(left, lease.missing);
    return alone ? lease.asBefore(count, sequences) : count;
  }

  /** Most tokens of `prompts` prompts in a step that has `decoding` other rows. */
  private promptRows(decoding: number, prompts: number): number {
    const { prefillChunk } = this.limits;
    if (decoding === 0) return prefillChunk;
    const quiet = this.times.atLeast(decoding);
    const least = decoding + Math.min(fewestPromptRows, prefillChunk);
    return (
      this.times.mostRows(quiet * patienceOf(decoding, prompts), least, decoding + prefillChunk) - decoding
    );
  }

  /** Starts the calls for which others make way: before a step, whose calls cannot give up their blocks. */
  private beginFirst(members: readonly Member[], now: number): void {
    const waiting = members.filter(({ lease, ended }) => !lease.started && !ended).sort(byTurn(now));
    for (const member of waiting) {
      if (![...this.blockManager.holders].some((holder) => holder.makesWayFor(member.lease))) return;
      if (!this.begin(member)) return;
    }
  }

  /** Whether a call starts. Where one waits for blocks, none after it does: nobody overtakes. */
  private begin(member: Member): boolean {
    if (this.isFull) return false;
    const { lease } = member;
    let state = this.blockManager.begin(lease);
    while (state === 'full' && this.blockManager.preemptAfter((holder) => holder.makesWayFor(lease)))
      state = this.blockManager.begin(lease);
    if (state === 'started') member.began();
    else if (state === 'later') member.awaitBeginning();
    this.isFull = state === 'full';
    return state === 'started';
  }

  private add(chosen: ChosenRows[], member: Member, count: number): boolean {
    const start = member.lease.sequence.length;
    if (!this.grow(member, count)) return false;
    member.lease.busy++;
    chosen.push({ member, start, count });
    return true;
  }

  /** False where blocks are short, or where the sequence cannot be so long: then only this request rejects. */
  private grow(member: Member, count: number): boolean {
    try {
      if (this.blockManager.growBefore(member.lease, count)) return true;
      this.blockManager.preempt(member.lease); // all calls before it have their blocks
    } catch (error) {
      member.fail(error);
    }
    return false;
  }
}

export const rowsOf = (chosen: readonly ChosenRows[]): number =>
  chosen.reduce((sum, { count }) => sum + count, 0);

/** Steps with adapters have other kernels. */
const isAdapted = ({ lease }: Member): boolean => lease.adapters.length > 0;

/** Higher priorities first; equal ones from each caller in turn, in the order of their requests. */
function inOrder(members: readonly Member[], isShared: boolean): readonly Member[] {
  const priority = members[0]?.lease.priority;
  if (!isShared && members.every(({ lease }) => lease.priority === priority)) return members;
  const places = isShared ? placesOf(members) : members.map(() => 0);
  return members
    .map((member, i) => ({ member, place: places[i]! }))
    .sort((a, b) => b.member.lease.priority - a.member.lease.priority || a.place - b.place)
    .map(({ member }) => member);
}

/** Overdue requests, then higher priorities; equal ones from each group in turn, in the order of their calls. */
const byTurn = (now: number) => (a: Member, b: Member) =>
  Number(isOverdue(b, now)) - Number(isOverdue(a, now)) ||
  (isOverdue(a, now) ? 0 : b.lease.priority - a.lease.priority) ||
  a.lease.turn - b.lease.turn ||
  a.lease.order - b.lease.order;

/** A call of a group waits while others of the group run: it is not overdue. */
const isOverdue = ({ since, lease }: Member, now: number): boolean =>
  lease.turn === 0 && now - since > overdueMs;
