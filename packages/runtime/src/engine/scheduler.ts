import type { Batch, SequenceRows } from './batch.js';
import type { BlockManager } from './block-manager.js';
import type { Sequence } from './sequence.js';
import { callersOf, type Need, needsOf, ranksOf, Shares, setTurns } from './shares.js';
import type { StepTimes } from './step-times.js';

export interface SchedulerLimits {
  /** Most sequences of a step, and most rows of those that decode. */
  readonly sequences: number;
  /** Most prompt tokens of a step. */
  readonly prefillChunk: number;
  /**
   * Steps never mix prompts and decoding, and a prompt has a step of its own; what a preemption took is computed in the
   * same steps again. In a step of up to `sequences` rows, each row has the bits that it has alone.
   */
  readonly alone: boolean;
  /** As `LoadOptions.itlTarget`. */
  readonly itlTarget?: number | undefined;
  /** As `LoadOptions.ttftTarget`. */
  readonly ttftTarget?: number | undefined;
}

/** What the next step computes. */
export interface Schedule {
  /** Row i belongs to `sequences[i]`. */
  readonly batch: Batch;
  readonly sequences: readonly Sequence[];
  /** Mean number of tokens that the sequences with blocks hold. */
  readonly depth: number;
  /** Sequences that got their first blocks. */
  readonly started: readonly Sequence[];
  /** Sequences whose prefix another one computes, or whose blocks are being restored. */
  readonly later: readonly Sequence[];
  /** Whether a sequence was left out because blocks are short. */
  readonly isFull: boolean;
}

/** Milliseconds for which another caller is expected to come again. */
const recentMs = 1000;
/**
 * A step with tokens of one prompt may take this many times as long as one without, or `quickMs`: those who decode wait
 * for it. They are promised 2 times; times vary. Several prompts may take longer, by their number per sequence that decodes: then more callers wait for prompts.
 */
const patience = 1.8;
const patiencePerPrompt = 8;
/** How many times as long as a quiet step one with tokens of `prompts` prompts may take beside `decoding` rows. */
const patienceOf = (decoding: number, prompts: number): number =>
  patience + (patiencePerPrompt * (prompts - 1)) / decoding;
/** A step of this many milliseconds is quick enough for any reader; the promise is 50. */
const quickMs = 48;
/** Beside decoding, a step has at least this many prompt tokens: with 16, steps at a depth of 4000 take three quiet ones. */
const fewestPromptRows = 8;
/** A request that has waited this long goes before all priorities. */
const overdueMs = 10_000;

/**
 * Chooses the rows of the next step: one token of every sequence that decodes, with its drafts; then tokens of prompts, as
 * many as the time of a step allows. The sequences get room for their rows, and leave their drafts where they were preempted.
 * No clock, no device: the same calls give the same schedules.
 */
export class Scheduler {
  /** Whether the last step was a prompt's, if steps never mix. */
  private lastWasPrompt = false;
  /** When several callers last shared the steps, in milliseconds. */
  private sharedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly blockManager: BlockManager,
    private readonly times: StepTimes,
    private readonly limits: SchedulerLimits,
  ) {}

  /** @param sequences those with a request, in order of the requests @param now in milliseconds */
  schedule(sequences: readonly Sequence[], now: number): Schedule {
    const started = new Set<Sequence>();
    for (;;) {
      const { preemptions } = this.blockManager;
      const step = this.scheduleOnce(sequences, now);
      for (const sequence of step.started) started.add(sequence);
      const others = this.blockManager.preemptions > preemptions; // have room now
      if (step.batch.length === 0 && others) continue;
      return withStarted(
        step,
        [...started].filter((sequence) => sequence.started),
      );
    }
  }

  private scheduleOnce(sequences: readonly Sequence[], now: number): NextStep {
    const callers = this.countCallers(sequences, now);
    if (this.blockManager.hasGroups)
      setTurns(
        [...this.blockManager.holders],
        sequences.filter(({ started }) => !started),
      );
    const step = new NextStep(this.blockManager, this.times, this.limits, sequences, now, callers);
    try {
      this.fill(step, sequences.length);
    } catch (error) {
      step.dropAll();
      throw error;
    }
    return step;
  }

  private fill(step: NextStep, requests: number): void {
    step.startFirst();
    if (this.limits.alone) this.addInTurns(step);
    else {
      step.addDecoding();
      if (step.batch.length < requests) step.addPrompts();
    }
  }

  /** Decoding or one prompt, in turns. */
  private addInTurns(step: NextStep): void {
    for (const isPrompt of [!this.lastWasPrompt, this.lastWasPrompt]) {
      if (isPrompt) step.addPrompts();
      else step.addDecoding();
      if (step.batch.length === 0) continue;
      this.lastWasPrompt = isPrompt;
      return;
    }
  }

  /** Callers that share the steps, those that did a moment ago included; 1 where no sequence has a group. */
  private countCallers(sequences: readonly Sequence[], now: number): number {
    if (!this.blockManager.hasGroups) {
      this.sharedAt = now; // a group that comes next is not alone
      return 1;
    }
    const callers = callersOf(sequences);
    if (callers > 1) this.sharedAt = now;
    return now - this.sharedAt < recentMs ? Math.max(2, callers) : callers;
  }
}

const withStarted = (step: NextStep, started: readonly Sequence[]): Schedule => {
  step.started.splice(0, step.started.length, ...started);
  return step;
};

/** A step that is being put together. */
class NextStep implements Schedule {
  readonly batch: SequenceRows[] = [];
  readonly sequences: Sequence[] = [];
  readonly started: Sequence[] = [];
  readonly later: Sequence[] = [];
  readonly depth: number;
  isFull = false;
  /** Rows so far. */
  private rows = 0;
  private readonly shares: Shares | undefined;

  constructor(
    private readonly blockManager: BlockManager,
    private readonly times: StepTimes,
    private readonly limits: SchedulerLimits,
    private readonly requests: readonly Sequence[],
    private readonly now: number,
    private readonly callers: number,
  ) {
    this.depth = meanLength(requests);
    this.shares = callers > 1 ? this.shareRows() : undefined;
  }

  /** Starts the sequences for which others make way: before a step, whose sequences cannot give up their blocks. */
  startFirst(): void {
    if (this.callers === 1) return;
    const waiting = this.requests.filter(({ started }) => !started).sort(byTurn(this.now));
    for (const sequence of waiting) {
      if (![...this.blockManager.holders].some((holder) => holder.makesWayFor(sequence))) return;
      if (!this.start(sequence)) return;
    }
  }

  /** The step will not run. */
  dropAll(): void {
    for (const sequence of this.sequences) sequence.steps--;
  }

  addDecoding(): void {
    const { alone } = this.limits;
    const decoding = this.requests.filter(({ decodes }) => decodes);
    const most = this.decodingSequences(decoding);
    for (const sequence of inOrder(decoding, this.callers > 1)) {
      if (this.rows >= most) break;
      const { outputs } = sequence;
      const isFirst = this.rows === 0;
      const fits = isFirst || this.rows + outputs <= most;
      const suits = !alone || isFirst || isAdapted(this.sequences[0]!) === isAdapted(sequence);
      const isDue = !this.shares || this.shares.allows(sequence, outputs);
      if (fits && suits && isDue && sequence.decodes && this.add(sequence, outputs))
        this.shares?.take(sequence, outputs);
    }
  }

  addPrompts(): void {
    const prompts = this.requests.filter(
      ({ decodes, started, missing }) => !decodes && !(started && missing === 0),
    );
    prompts.sort(byTurn(this.now));
    const { shares } = this;
    if (!shares || this.limits.alone) {
      this.addUpTo(prompts, this.promptRows(prompts));
      return;
    }
    const { prefillChunk } = this.limits;
    const decoding = this.rows;
    this.addUpTo(prompts, prefillChunk, (sequence) => shares.of(sequence));
    const left = Math.min(shares.left, prefillChunk - (this.rows - decoding)); // those who wait for blocks cannot use it
    const others = prompts.filter((sequence) => sequence.started && !this.sequences.includes(sequence));
    this.addUpTo(others, left);
  }

  /** Adds tokens of prompts: up to `left`, and up to `share` of each. */
  private addUpTo(
    prompts: readonly Sequence[],
    left: number,
    share: (sequence: Sequence) => number = () => left,
  ): void {
    for (const sequence of prompts) {
      if (left <= 0 || this.batch.length === this.limits.sequences) break;
      const most = Math.min(left, share(sequence));
      if (most === 0 && sequence.missing > 0) continue;
      sequence.dropDrafts();
      if (!(sequence.started || this.start(sequence))) continue;
      if (sequence.missing === 0) continue; // it wants blocks alone
      const count = this.promptCount(sequence, most);
      if (!this.add(sequence, count)) continue;
      left -= count;
      this.shares?.take(sequence, count);
      if (this.limits.alone) break;
    }
  }

  /** Most sequences that decode: beside a group, callers with prompts alone have a place too. */
  private decodingSequences(decoding: readonly Sequence[]): number {
    const { sequences } = this.limits;
    if (this.callers === 1) return sequences;
    return Math.max(1, sequences - Math.max(0, this.callers - callersOf(decoding)));
  }

  /**
   * Beside a group: the rows of the next step, divided among the callers. The step takes no longer than any of them would let it
   * take alone; one that was here a moment ago counts as a row.
   */
  private shareRows(): Shares {
    const { callers, times, depth } = this;
    const { sequences, prefillChunk } = this.limits;
    const needs = needsOf(this.requests);
    const longest = Math.min(...[...needs.values()].map((need) => this.longestStep(need)));
    const mostTime =
      needs.size < callers ? Math.min(longest, patience * times.atLeast(callers, depth)) : longest;
    const least = Math.max(callers, fewestPromptRows);
    return new Shares(needs, times.mostRows(mostTime, least, sequences + prefillChunk, depth));
  }

  /** Milliseconds of a step that a caller would accept alone, beside a row of each other one. */
  private longestStep({ tokens, decoding, prompts }: Need): number {
    const { callers, times, depth } = this;
    const { sequences, prefillChunk } = this.limits;
    if (decoding === 0) return patience * times.atLeast(Math.min(tokens, prefillChunk) + callers - 1, depth);
    const rows = Math.min(decoding, sequences);
    const quiet = times.atLeast(rows + callers - 1, depth);
    return this.limits.itlTarget ?? quiet * patienceOf(rows, Math.max(1, prompts));
  }

  private promptCount(sequence: Sequence, left: number): number {
    const { alone, sequences } = this.limits;
    const count = Math.min(left, sequence.missing);
    const whole = this.blockManager.hasStates && sequence.reuse ? this.upToBorder(sequence, count) : count;
    return alone ? sequence.asBefore(whole, sequences) : whole;
  }

  /** Up to `count` of the next tokens, which end with a block where one ends there: a later prompt can start with that state. */
  private upToBorder({ kv, tokens }: Sequence, count: number): number {
    const { blockSize } = this.blockManager;
    const end = Math.min(kv.length + count, tokens.length - 1);
    const border = end - (end % blockSize);
    return border > kv.length ? border - kv.length : count;
  }

  /** Most tokens of prompts in the step, so that those who decode get their tokens in time. */
  private promptRows(prompts: readonly Sequence[]): number {
    const { rows: decoding, times, depth } = this;
    const { prefillChunk, itlTarget } = this.limits;
    if (decoding === 0) return prefillChunk;
    const quiet = times.atLeast(decoding, depth);
    const usual = Math.max(quickMs, quiet * patienceOf(decoding, prompts.length));
    const least = decoding + Math.min(fewestPromptRows, prefillChunk);
    const most = decoding + prefillChunk;
    const quick = times.mostRows(itlTarget ?? usual, least, most, depth) - decoding;
    return itlTarget === undefined ? Math.max(quick, this.rowsInTime(prompts)) : quick;
  }

  /** Fewest tokens of prompts per step with which all prompts are computed within `ttftTarget`; else a chunk. */
  private rowsInTime(prompts: readonly Sequence[]): number {
    const { ttftTarget, prefillChunk } = this.limits;
    if (ttftTarget === undefined) return 0;
    const { freeBlocks, blockSize } = this.blockManager;
    const due = prompts.filter(
      ({ started, startedAt, missing }) => started || (startedAt === 0 && missing < freeBlocks * blockSize),
    );
    for (let rows = fewestPromptRows; rows < prefillChunk; rows *= 2) {
      const ms = this.times.estimate(this.rows + rows, this.depth);
      let tokens = 0;
      const isInTime = ({ missing, since }: Sequence): boolean => {
        tokens += missing;
        return this.now + Math.ceil(tokens / rows) * ms <= since + ttftTarget;
      };
      if (due.every(isInTime)) return rows;
    }
    return prefillChunk;
  }

  /** Whether a sequence starts. Where one waits for blocks, none after it starts: nobody overtakes. */
  private start(sequence: Sequence): boolean {
    if (this.isFull) return false;
    const { blockManager } = this;
    let state = blockManager.begin(sequence);
    while (state === 'full' && blockManager.preemptAfter((holder) => holder.makesWayFor(sequence)))
      state = blockManager.begin(sequence);
    if (state === 'started') this.started.push(sequence);
    else if (state === 'later') this.later.push(sequence);
    this.isFull = state === 'full';
    return state === 'started';
  }

  /** Adds rows of a sequence; false where blocks are short: all sequences before it have theirs. */
  private add(sequence: Sequence, count: number): boolean {
    const { kv, tokens, adapters } = sequence;
    const start = kv.length;
    if (!this.blockManager.growBefore(sequence, count, this.keepsState(sequence))) {
      if (sequence.steps === 0) this.blockManager.preempt(sequence); // a step under way writes to its blocks
      return false;
    }
    sequence.steps++;
    const end = start + count;
    this.sequences.push(sequence);
    this.batch.push({
      start,
      tokens: tokens.slice(start, end),
      blocks: kv.blockTable,
      states: kv.states,
      outputs: end === tokens.length ? sequence.outputs : 0,
      adapters,
    });
    this.rows += count;
    return true;
  }

  /** Whether the state before its next tokens is kept: refused drafts go back to it, later prompts start with it. */
  private keepsState({ kv, outputs, reuse, decodes }: Sequence): boolean {
    return outputs > 1 || (reuse && !decodes && kv.length % this.blockManager.blockSize === 0);
  }
}

const meanLength = (sequences: readonly Sequence[]): number => {
  let [tokens, count] = [0, 0];
  for (const { kv, started } of sequences)
    if (started) {
      tokens += kv.length;
      count++;
    }
  return count === 0 ? 0 : tokens / count;
};

/** Steps with adapters have other kernels. */
const isAdapted = ({ adapters }: Sequence): boolean => adapters.length > 0;

/** Higher priorities first; equal ones from each caller in turn, in the order of their requests. */
function inOrder(sequences: readonly Sequence[], isShared: boolean): readonly Sequence[] {
  const first = sequences[0]?.priority;
  if (!isShared && sequences.every(({ priority }) => priority === first)) return sequences;
  const ranks = isShared ? ranksOf(sequences) : sequences.map(() => 0);
  return sequences
    .map((sequence, i) => ({ sequence, rank: ranks[i]! }))
    .sort((a, b) => b.sequence.priority - a.sequence.priority || a.rank - b.rank)
    .map(({ sequence }) => sequence);
}

/** Overdue requests, then higher priorities; equal ones from each group in turn, in the order of their arrival. */
const byTurn = (now: number) => (a: Sequence, b: Sequence) =>
  Number(isOverdue(b, now)) - Number(isOverdue(a, now)) ||
  (isOverdue(a, now) ? 0 : b.priority - a.priority) ||
  a.turn - b.turn ||
  a.order - b.order;

/** A sequence of a group waits while others of the group run: it is not overdue. */
const isOverdue = ({ since, turn }: Sequence, now: number): boolean => turn === 0 && now - since > overdueMs;
