import type { Entry } from './entry.js';

/** A request that waits for a model. */
export interface ModelWaiter {
  readonly entry: Entry;
  start(): void;
  fail(error: unknown): void;
}

/** Requests that wait for models, in the order in which they came. */
export class Waiters {
  private list: ModelWaiter[] = [];

  add(waiter: ModelWaiter): void {
    this.list.push(waiter);
    waiter.entry.waiting++;
  }

  /** False: it does not wait any more. */
  remove(waiter: ModelWaiter): boolean {
    if (!this.list.includes(waiter)) return false;
    this.list = this.list.filter((each) => each !== waiter);
    waiter.entry.waiting--;
    return true;
  }

  /** The model of the first request whose model is not there. */
  get firstUnloaded(): Entry | undefined {
    return this.list.find(({ entry }) => entry.state === 'unloaded')?.entry;
  }

  /** Starts requests whose model may. */
  start(may: (entry: Entry) => boolean): void {
    for (const waiter of this.take(may)) waiter.start();
  }

  failAll(which: (entry: Entry) => boolean, error: unknown): void {
    for (const waiter of this.take(which)) waiter.fail(error);
  }

  private take(which: (entry: Entry) => boolean): readonly ModelWaiter[] {
    const taken = this.list.filter(({ entry }) => which(entry));
    for (const waiter of taken) this.remove(waiter);
    return taken;
  }
}
