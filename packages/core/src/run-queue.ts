import { QuernError } from './error.js';

/** One thing at a time on a device, in the order asked for; frees come between them. */
export class RunQueue {
  private tail: Promise<unknown> = Promise.resolve();
  private pending = 0;
  private waiting: (() => void)[] = [];

  /** Runs `task` after those before it, whether or not they failed; at once where there are none. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.pending++ === 0 ? begin(task) : this.tail.then(task, task);
    this.tail = result.then(this.ended, this.ended);
    return result;
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

  private readonly ended = (): void => {
    if (--this.pending > 0) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const act of waiting) attempt(act);
  };
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
