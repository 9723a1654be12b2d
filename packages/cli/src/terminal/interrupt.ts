import { exitStatus } from './exit-status.js';

/** Signals that end the program. */
const names = ['SIGINT', 'SIGTERM'] as const;

export type Interrupt = (typeof names)[number];

/** Thrown when Ctrl-C or SIGTERM ends the work: the program ends without a message. */
export class Interrupted extends Error {
  constructor(readonly by: Interrupt) {
    super(`ended by ${by}`);
  }

  get status(): number {
    return exitStatus[this.by];
  }
}

/** A stack: only the last listener is called. */
const listeners: ((by: Interrupt) => void)[] = [];

/** Reports Ctrl-C or SIGTERM from any source: a terminal in raw mode sends no signal. */
export const interrupt = (by: Interrupt): void => listeners.at(-1)?.(by);

/** `listener` handles Ctrl-C and SIGTERM, instead of the previous listener, until the returned function is called. */
export function onInterrupt(listener: (by: Interrupt) => void): () => void {
  if (listeners.length === 0) for (const name of names) process.on(name, interrupt);
  listeners.push(listener);
  return () => {
    listeners.splice(listeners.indexOf(listener), 1);
    if (listeners.length === 0) for (const name of names) process.off(name, interrupt);
  };
}

const isAbort = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ABORTED';

/**
 * Runs `work` with a signal that Ctrl-C or SIGTERM aborts; the reason is Interrupted. A second Ctrl-C ends the process
 * at once. Rejects with Interrupted if `work` rejects after the abort; `work` may also resolve with a partial result.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const stop = onInterrupt((by) => {
    const interrupted = new Interrupted(by);
    if (signal.aborted) process.exit(interrupted.status);
    controller.abort(interrupted);
  });
  try {
    return await work(signal);
  } catch (error) {
    throw signal.aborted && isAbort(error) ? signal.reason : error;
  } finally {
    stop();
  }
}
