/** Work in parts: it yields where other work may come between, after a millisecond or so. */
export type Work<Result> = Generator<void, Result>;

/** Does all of it at once. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value;
}

const PART = 256; // units of effort: a fraction of a millisecond

/** What work over the same expressions has cost, in units: an expression, a term or an alternative that it looked at. */
export class Effort {
  private ended = 0;
  private sum = 0;

  /** All units so far. */
  get spent(): number {
    return this.sum;
  }

  spend(units: number): void {
    this.sum += units;
  }

  /** True where a part has to end: it has cost enough since the last one ended. */
  endsPart(): boolean {
    if (this.sum - this.ended < PART) return false;
    this.ended = this.sum;
    return true;
  }
}

const TURN = 4; // milliseconds between two turns of the event loop

/**
 * Does work that yields, in turns: other work of the event loop goes on meanwhile. Rejects with the signal's reason at the
 * next turn where it aborts.
 */
export async function inTurns<Result>(work: Work<Result>, signal?: AbortSignal): Promise<Result> {
  signal?.throwIfAborted();
  return startInTurns(work, signal);
}

/** `inTurns`, but the result itself where the first turn is enough. Works that start in one round share its first turn. */
export function startInTurns<Result>(work: Work<Result>, signal?: AbortSignal): Result | Promise<Result> {
  let step = work.next();
  if (!step.done && left > 0) step = firstTurn(work);
  return step.done ? step.value : otherTurns(work, signal);
}

/** Milliseconds left for first turns in this round of the event loop. */
let left = TURN;
let isRound = false;

function firstTurn<Result>(work: Work<Result>): IteratorResult<void, Result> {
  if (!isRound) setImmediate(endRound);
  isRound = true;
  const start = performance.now();
  const step = oneTurn(work, left);
  left -= performance.now() - start;
  return step;
}

function endRound(): void {
  isRound = false;
  left = TURN;
}

async function otherTurns<Result>(work: Work<Result>, signal: AbortSignal | undefined): Promise<Result> {
  for (;;) {
    await nextTurn();
    signal?.throwIfAborted();
    const step = oneTurn(work);
    if (step.done) return step.value;
  }
}

function oneTurn<Result>(work: Work<Result>, ms = TURN): IteratorResult<void, Result> {
  const end = performance.now() + ms;
  let step = work.next();
  while (!step.done && performance.now() < end) step = work.next();
  return step;
}

const waiting: (() => void)[] = [];

/** Resolves in a later round of the event loop. Each round has one turn, however many wait. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(giveTurn);
  });
}

function giveTurn(): void {
  if (waiting.length > 1) setImmediate(giveTurn);
  waiting.shift()?.();
}
