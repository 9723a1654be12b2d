import type { Clock } from './clock.js';

/** Lets work wait for the next change of a state. */
export class Changes {
  private waiting: (() => void)[] = [];

  constructor(private readonly clock: Clock) {}

  /** Something has changed. */
  announce(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const wake of waiting) wake();
  }

  /** @param until a time by which the wait ends in any case */
  next(until = Number.POSITIVE_INFINITY): Promise<void> {
    return new Promise((resolve) => {
      const cancel =
        until === Number.POSITIVE_INFINITY
          ? () => {}
          : this.clock.after(Math.max(0, until - this.clock.now()), resolve);
      this.waiting.push(() => {
        cancel();
        resolve();
      });
    });
  }
}
