import { yieldToEventLoop } from '@quern/core';

/**
 * Starts tasks in order, at most `most` at a time, and yields their results in order. After a failure no other task
 * starts; the failure is thrown when all running tasks have ended.
 */
export async function* inFlight<T>(
  most: number,
  tasks: Iterable<() => Promise<T>>,
): AsyncGenerator<T, void, undefined> {
  const running: Promise<T>[] = [];
  try {
    for (const begin of tasks) {
      const task = begin();
      task.catch(() => {}); // reported when the task's turn comes
      running.push(task);
      if (running.length === most) yield await running.shift()!;
      else await yieldToEventLoop(); // lets the task reach the device before the next one starts
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    await Promise.allSettled(running);
  }
}
