/** Lets the event loop take a turn. Work of some milliseconds on the JS thread calls it between its parts. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Longest work on the JS thread between two turns of the event loop. */
const sliceMilliseconds = 4;

/** The time since the event loop last had a turn. */
export class TimeSlice {
  private start = performance.now();

  get over(): boolean {
    return performance.now() - this.start > sliceMilliseconds;
  }

  /** Lets the event loop take a turn, and starts anew. */
  async yield(): Promise<void> {
    await yieldToEventLoop();
    this.start = performance.now();
  }
}
