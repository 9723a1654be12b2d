import { onAbort } from '@quern/core';
import { aborted } from '../error.js';

/** At most `count` holders at a time; first come, first served. */
export class Slots {
  readonly #waiting: (() => void)[] = [];

  constructor(private free: number) {}

  /** Returns the function that gives the slot back; calling it twice is harmless. @throws HubError ABORTED */
  async take(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw aborted(signal);
    if (this.free > 0) this.free--;
    else await this.#wait(signal);
    let isHeld = true;
    return () => {
      if (isHeld) this.#give();
      isHeld = false;
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const granted = () => {
        cancel();
        resolve();
      };
      const cancel = onAbort(signal, () => {
        this.#waiting.splice(this.#waiting.indexOf(granted), 1);
        cancel();
        reject(aborted(signal));
      });
      this.#waiting.push(granted);
    });
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.free++;
  }
}
