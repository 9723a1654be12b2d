/** Gives the event loop a turn. Work of some milliseconds on the JS thread calls it between its parts. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Longest work on the JS thread between two turns of the event loop. */
const sliceMilliseconds = 4;

/** Time since the last turn of the event loop. */
export class TimeSlice {
  private start = performance.now();

  get over(): boolean {
    return performance.now() - this.start > sliceMilliseconds;
  }

  /** Gives the event loop a turn and restarts the clock. */
  async yield(): Promise<void> {
    await yieldToEventLoop();
    this.start = performance.now();
  }
}
