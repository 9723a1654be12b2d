/** Runs `depth` items at once, and gives their results in the order of the items. */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  depth: number,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R, void, void> {
  const pending: Promise<R>[] = [];
  for await (const item of items) {
    const result = run(item);
    result.catch(() => {}); // whoever awaits it hears of it; nobody does after an earlier one has failed
    pending.push(result);
    if (pending.length >= depth) yield await pending.shift()!;
  }
  for (const result of pending) yield await result;
}
