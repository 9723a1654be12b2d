/** Work on the JS thread lets other work in after this long. */
const sliceMilliseconds = 4;

/** The time since other work last had its turn. */
export class TimeSlice {
  private start = performance.now();

  get over(): boolean {
    return performance.now() - this.start > sliceMilliseconds;
  }

  /** Lets the event loop take a turn. */
  async breathe(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.start = performance.now();
  }
}
