/** The values of several sources as they come, each with the number of its source. */
export async function* interleave<T>(
  sources: readonly AsyncIterable<T>[],
): AsyncGenerator<readonly [index: number, value: T], void, undefined> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const next = (index: number) => iterators[index]!.next().then((result) => ({ index, result }));
  const waiting = new Map(iterators.map((_, index) => [index, next(index)]));
  try {
    while (waiting.size > 0) {
      const { index, result } = await Promise.race(waiting.values());
      if (result.done) waiting.delete(index);
      else {
        waiting.set(index, next(index));
        yield [index, result.value];
      }
    }
  } finally {
    for (const iterator of iterators) void iterator.return?.();
    await Promise.allSettled(waiting.values());
  }
}
