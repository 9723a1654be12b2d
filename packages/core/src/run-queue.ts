import { QuernError } from './error.js';

/** A waiting task. */
interface Turn {
  readonly alone: boolean;
  begin(): void;
}

/** A task that runs plans. It calls `handed` when the device has its last plan: the next task may then start. */
export type PlanTask<T> = (handed: () => void) => Promise<T>;

/** The work of a device in call order: several plans at a time, any other task alone; frees run between tasks. */
export class RunQueue {
  private readonly line: Turn[] = [];
  /** Tasks that have started and not ended. */
  private running = 0;
  /** Whether the latest task lets the next plan start. */
  private open = true;
  /** Result of the latest started task. */
  private last: Promise<unknown> | undefined;
  /** Number of tasks that have not ended, started or waiting. */
  private pending = 0;
  private waiting: (() => void)[] = [];

  constructor(readonly plansInFlight = 1) {}

  /** Runs `task` alone, after all earlier tasks (failed ones too); at once if there are none. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return this.enter(task, true);
  }

  /** Runs `task` like `run`, but beside up to `plansInFlight` − 1 earlier plan tasks. Results settle in call order. */
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
   * Calls `act` between two tasks: now if no task is pending, otherwise after the pending tasks. No caller waits for a
   * delayed `act`, so its error becomes a warning of the process.
   */
  between(act: () => void): void {
    if (this.pending === 0) act();
    else void this.run(async () => attempt(act));
  }

  /**
   * Calls `act` once no task runs or waits: the end of all work. An error of a delayed call becomes a warning of the
   * process.
   */
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

  /** Starts the next turn if it may start. Returns whether it did. */
  private takeTurn(alone: boolean): boolean {
    const free = !alone && this.open && this.running < this.plansInFlight;
    if (this.running > 0 && !free) return false;
    this.running++;
    this.open = false;
    return true;
  }

  /** One microtask later: the caller of the ended task sees its results before the next task begins. */
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

/** Settles like `own`, but not before `before`. */
async function after<T>(before: Promise<unknown>, own: Promise<T>): Promise<T> {
  await Promise.allSettled([before, own]);
  return own;
}

/** Calls a function that no caller waits for. */
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

/** Calls a task; an exception becomes a rejection. */
function begin<T>(task: () => Promise<T>): Promise<T> {
  try {
    return task();
  } catch (error) {
    return Promise.reject(error);
  }
}
