/** What ends a program from outside, and the exit status that shells give for it. */
const statuses = { SIGINT: 130, SIGTERM: 143 } as const;

export type Interrupt = keyof typeof statuses;

const names = Object.keys(statuses) as Interrupt[];

/** Thrown where Ctrl-C or SIGTERM ended the work: the program ends without a message. */
export class Interrupted extends Error {
  constructor(readonly by: Interrupt) {
    super(`ended by ${by}`);
  }

  get status(): number {
    return statuses[this.by];
  }
}

/** The innermost is the last, and it alone hears. */
const listeners: ((by: Interrupt) => void)[] = [];

/** Ctrl-C or SIGTERM, from wherever it comes: a terminal in raw mode sends no signal. */
export const interrupt = (by: Interrupt): void => listeners.at(-1)?.(by);

/** Until the function that it returns is called, `listener` hears Ctrl-C and SIGTERM instead of whoever did before. */
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
 * Runs `work` with a signal that Ctrl-C or SIGTERM aborts, with Interrupted as its reason. A second one ends the process at
 * once. Rejects with Interrupted where `work` rejects because of the abort; work that gives what it has may resolve.
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
