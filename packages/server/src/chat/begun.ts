import type { Call } from '../context.js';

/** Longest wait for the first values, in milliseconds: then clients and proxies should see that a response comes. */
const longest = 5000;

/** A source whose first value is asked for at once. */
class Begun<T> implements AsyncIterable<T> {
  readonly first: Promise<IteratorResult<T>>;
  private readonly iterator: AsyncIterator<T>;
  private isTaken = false;

  constructor(source: AsyncIterable<T>) {
    this.iterator = source[Symbol.asyncIterator]();
    this.first = this.iterator.next();
    this.first.catch(() => {}); // whoever iterates gets the error
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return { next: () => this.next(), return: () => this.end() };
  }

  async end(): Promise<IteratorResult<T>> {
    await this.iterator.return?.();
    return { done: true, value: undefined };
  }

  private next(): Promise<IteratorResult<T>> {
    if (this.isTaken) return this.iterator.next();
    this.isTaken = true;
    return this.first;
  }
}

/**
 * The same values, begun. What fails before the first of them rejects here, while the response can still have a status of
 * its own: a prompt that is too long, a schema that cannot be enforced, a full queue. After five seconds, or after a shorter `keepAliveMs`, it is
 * an error of the stream.
 */
export async function allBegun<T>(
  sources: readonly AsyncIterable<T>[],
  { keepAliveMs = 0 }: Partial<Pick<Call, 'keepAliveMs'>> = {},
): Promise<AsyncIterable<T>[]> {
  const all = sources.map((source) => new Begun(source));
  let timer: NodeJS.Timeout | undefined;
  const patient = new Promise((resolve) => {
    timer = setTimeout(resolve, Math.min(longest, keepAliveMs || longest));
  });
  try {
    await Promise.race([Promise.all(all.map(({ first }) => first)), patient]);
    return all;
  } catch (error) {
    for (const each of all) each.end().catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** As `allBegun`, of one source. */
export const begun = async <T>(
  source: AsyncIterable<T>,
  call?: Pick<Call, 'keepAliveMs'>,
): Promise<AsyncIterable<T>> => (await allBegun([source], call))[0]!;
