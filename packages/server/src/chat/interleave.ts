/** Values of several sources in the order in which they come. Each source waits until its value has been read. */
class Arrivals<T> {
  private readonly arrived: { readonly index: number; readonly result: IteratorResult<T> }[] = [];
  private failure: { readonly error: unknown } | undefined;
  private wake = (): void => {};

  constructor(private readonly iterators: readonly AsyncIterator<T>[]) {}

  /** Requests the next value of a source. */
  request(index: number): Promise<void> {
    return this.iterators[index]!.next().then(
      (result) => {
        this.arrived.push({ index, result });
        this.wake();
      },
      (error: unknown) => {
        this.failure ??= { error };
        this.wake();
      },
    );
  }

  /** The values that have come since the last call, one at least. Rejects with the first error of a source. */
  async take(): Promise<{ readonly index: number; readonly result: IteratorResult<T> }[]> {
    if (this.arrived.length === 0 && !this.failure)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    if (this.failure) throw this.failure.error;
    return this.arrived.splice(0);
  }
}

/** The values of several sources as they come, each with the number of its source. */
export async function* interleave<T>(
  sources: readonly AsyncIterable<T>[],
): AsyncGenerator<readonly [index: number, value: T], void, undefined> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const arrivals = new Arrivals(iterators);
  const waiting = new Map(iterators.map((_, index) => [index, arrivals.request(index)]));
  try {
    while (waiting.size > 0)
      for (const { index, result } of await arrivals.take()) {
        if (result.done) waiting.delete(index);
        else {
          waiting.set(index, arrivals.request(index));
          yield [index, result.value];
        }
      }
  } finally {
    for (const iterator of iterators) void iterator.return?.();
    await Promise.allSettled(waiting.values());
  }
}
