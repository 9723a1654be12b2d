/** Values that come by calls, for one reader. */
export class Pushed<T> implements AsyncIterable<T> {
  private readonly waiting: T[] = [];
  private isEnded = false;
  private wake = (): void => {};

  push(value: T): void {
    this.waiting.push(value);
    this.wake();
  }

  /** No value comes any more. */
  end(): void {
    this.isEnded = true;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      while (this.waiting.length > 0) yield this.waiting.shift()!;
      if (this.isEnded) return;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}
