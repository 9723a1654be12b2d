import { QuernError } from './error.js';

/** What waits for its turn. */
interface Turn {
  readonly alone: boolean;
  begin(): void;
}

/** A task that runs plans: it calls `handed` when the device has the last of them, so that the next may follow. */
export type PlanTask<T> = (handed: () => void) => Promise<T>;

/** The work of a device, in the order asked for: some plans at a time, anything else by itself; frees come between. */
export class RunQueue {
  private readonly line: Turn[] = [];
  /** Turns that have begun and not ended. */
  private running = 0;
  /** Whether the turn that began last lets the next plan begin. */
  private open = true;
  /** The result of the turn that began last. */
  private last: Promise<unknown> | undefined;
  /** Everything asked for that has not ended. */
  private pending = 0;
  private waiting: (() => void)[] = [];

  constructor(readonly plansInFlight = 1) {}

  /** Runs `task` by itself, after those before it, whether or not they failed; at once where there are none. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return this.enter(task, true);
  }

  /** Runs `task` like `run`, but beside up to `plansInFlight` − 1 tasks of plans before it. Results settle in their order. */
  plan<T>(task: PlanTask<T>): Promise<T> {
    return this.enter(task, this.plansInFlight === 1);
  }

  /** Runs `task` at once, beside the others, and counts it as running. */
  beside<T>(task: () => Promise<T>): Promise<T> {
    this.pending++;
    const result = begin(task);
    result.then(this.ended, this.ended);
    return result;
  }

  /**
   * Calls `act` between two tasks: now if none is asked for, otherwise after those asked for so far. What it throws then
   * is a warning of the process: nobody waits for it.
   */
  between(act: () => void): void {
    if (this.pending === 0) act();
    else void this.run(async () => attempt(act));
  }

  /** Calls `act` once nothing runs and nothing waits: at the end of all work. What it throws then is a warning, as above. */
  whenIdle(act: () => void): void {
    if (this.pending === 0) act();
    else this.waiting.push(act);
  }

  private enter<T>(task: PlanTask<T>, alone: boolean): Promise<T> {
    const before = this.pending++ > 0 && !alone ? this.last : undefined;
    let handed = false;
    const hand = () => {
      if (!handed) this.open = true;
      handed = true;
      this.advanceSoon();
    };
    const start = () => begin(() => task(alone ? nothing : hand));
    const own = this.line.length === 0 && this.takeTurn(alone) ? start() : this.waitTurn(alone).then(start);
    const result = before ? after(before, own) : own;
    this.last = result;
    const ended = () => {
      this.running--;
      hand();
      this.ended();
    };
    result.then(ended, ended);
    return result;
  }

  private waitTurn(alone: boolean): Promise<void> {
    return new Promise((begin) => this.line.push({ alone, begin }));
  }

  /** Whether a turn could begin, and has. */
  private takeTurn(alone: boolean): boolean {
    const free = !alone && this.open && this.running < this.plansInFlight;
    if (this.running > 0 && !free) return false;
    this.running++;
    this.open = false;
    return true;
  }

  /** One microtask later: who waits for the task that ended sees its results before the next begins. */
  private advanceSoon(): void {
    if (this.line.length > 0) queueMicrotask(this.advance);
  }

  private readonly advance = (): void => {
    while (this.line.length > 0 && this.takeTurn(this.line[0]!.alone)) this.line.shift()!.begin();
  };

  private readonly ended = (): void => {
    if (--this.pending > 0) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const act of waiting) attempt(act);
  };
}

const nothing = (): void => {};

/** Settles as `own`, but not before `before`. */
async function after<T>(before: Promise<unknown>, own: Promise<T>): Promise<T> {
  await Promise.allSettled([before, own]);
  return own;
}

/** Calls what nobody waits for. */
function attempt(act: () => void): void {
  try {
    act();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error.message : String(error), {
      type: 'QuernWarning',
      code: error instanceof QuernError ? error.code : 'DEVICE_FAILED',
    });
  }
}

/** Calls a task; what it throws becomes a rejection. */
function begin<T>(task: () => Promise<T>): Promise<T> {
  try {
    return task();
  } catch (error) {
    return Promise.reject(error);
  }
}
