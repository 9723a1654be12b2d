import { TimeSlice } from './plan/time-slice.js';

/** Work on the JS thread in parts: it yields where other work may come between. */
export type Divided<T> = Generator<undefined, T, undefined>;

const itemsOfPart = 1024; // each takes a microsecond or less

/** Calls `act` for every item, a thousand of them in a part. */
export function* eachOf<T>(items: ArrayLike<T>, act: (item: T, index: number) => void): Divided<void> {
  for (let first = 0; first < items.length; first += itemsOfPart) {
    const end = Math.min(items.length, first + itemsOfPart);
    for (let i = first; i < end; i++) act(items[i]!, i);
    yield;
  }
}

/** All of it now. */
export function atOnce<T>(work: Divided<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** In slices of some milliseconds, with a turn of the event loop between them. */
export async function inTurns<T>(work: Divided<T>): Promise<T> {
  const slice = new TimeSlice();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (slice.over) await slice.breathe();
  }
}
