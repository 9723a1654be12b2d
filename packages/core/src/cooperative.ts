import { TimeSlice } from './event-loop.js';

/** Work on the JS thread in parts of less than a millisecond. It yields after each part. */
export type Cooperative<T> = Generator<undefined, T, undefined>;

const itemsOfPart = 1024; // each takes a microsecond or less

/** Calls `act` for every item, about a thousand items per part. */
export function* eachOf<T>(items: ArrayLike<T>, act: (item: T, index: number) => void): Cooperative<void> {
  for (let first = 0; first < items.length; first += itemsOfPart) {
    const end = Math.min(items.length, first + itemsOfPart);
    for (let i = first; i < end; i++) act(items[i]!, i);
    yield;
  }
}

/** Runs the work to its end without a pause. */
export function runAtOnce<T>(work: Cooperative<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Runs the work in slices of 4 ms, with a turn of the event loop between them. */
export async function runInTurns<T>(work: Cooperative<T>): Promise<T> {
  const slice = new TimeSlice();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (slice.over) await slice.yield();
  }
}
