import type { Divided } from '@quern/core';

/** Runs the work until there are more than `limit` ids, or to its end. */
export function* untilFull(work: Divided<void>, ids: readonly number[], limit: number): Divided<void> {
  while (ids.length <= limit && !work.next().done) yield;
}
