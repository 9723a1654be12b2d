/** Work in parts: it yields where other work may come between, after a millisecond or so. */
export type Work<Result> = Generator<void, Result>;

/** Does all of it at once. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value;
}

const TURN = 4; // milliseconds between two turns of the event loop

/**
 * Does work that yields, in turns: other work of the event loop goes on meanwhile. Rejects with the signal's reason at the
 * next turn where it aborts.
 */
export async function inTurns<Result>(work: Work<Result>, signal?: AbortSignal): Promise<Result> {
  signal?.throwIfAborted();
  let start = performance.now();
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    if (performance.now() - start < TURN) continue;
    await new Promise<void>((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
    start = performance.now();
  }
}
