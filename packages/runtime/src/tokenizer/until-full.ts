import type { Cooperative } from '@quern/core';

/** Runs the work to its end, or until there are more than `limit` ids. */
export function* untilFull(
  work: Cooperative<void>,
  ids: readonly number[],
  limit: number,
): Cooperative<void> {
  while (ids.length <= limit && !work.next().done) yield;
}
