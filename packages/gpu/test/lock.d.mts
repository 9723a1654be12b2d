export interface Clock {
  /** Milliseconds. */
  now(): number;
  /** Lets others work. */
  pause(): void;
}

/** Runs `act(log)` while no other process holds the lock, a folder; `log`: the path for the output of the work. */
export function withLock(lock: string, act: (log: string) => void, clock?: Clock): void;
