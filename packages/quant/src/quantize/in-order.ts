/** Processes `depth` items at a time; yields results in item order. */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  depth: number,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R, void, void> {
  const pending: Promise<R>[] = [];
  for await (const item of items) {
    const result = run(item);
    result.catch(() => {}); // the await below reports it, unless an earlier item has failed
    pending.push(result);
    if (pending.length >= depth) yield await pending.shift()!;
  }
  for (const result of pending) yield await result;
}
