import type { Divided } from '@quern/core';

/** As much of the work as it takes until there are more than `limit` ids. */
export function* untilFull(work: Divided<void>, ids: readonly number[], limit: number): Divided<void> {
  while (ids.length <= limit && !work.next().done) yield;
}
