import { yieldToEventLoop } from '@quern/core';

/**
 * Begins tasks in order, at most `most` of them under way, and gives their results in order. Where one fails, no other begins,
 * and nothing is under way when the failure is told.
 */
export async function* inFlight<T>(
  most: number,
  tasks: Iterable<() => Promise<T>>,
): AsyncGenerator<T, void, undefined> {
  const running: Promise<T>[] = [];
  try {
    for (const begin of tasks) {
      const task = begin();
      task.catch(() => {}); // told when its turn comes
      running.push(task);
      if (running.length === most) yield await running.shift()!;
      else await yieldToEventLoop(); // the task is handed to the device before the next begins
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    await Promise.allSettled(running);
  }
}
