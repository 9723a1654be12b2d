import type { Cooperative } from '@quern/core';

/** Runs the work until there are more than `limit` ids, or to its end. */
export function* untilFull(
  work: Cooperative<void>,
  ids: readonly number[],
  limit: number,
): Cooperative<void> {
  while (ids.length <= limit && !work.next().done) yield;
}
