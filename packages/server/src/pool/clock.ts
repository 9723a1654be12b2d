/** The time, and one call later on: tests have a clock of their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` after `ms` milliseconds, unless the function that it returns is called before. */
  after(ms: number, run: () => void): () => void;
}

/** Longest time of a timer of Node. */
const maxMs = 2 ** 31 - 1;

/** The time of this machine. Its timers do not keep the process running. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, maxMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
