/**
 * Lets the event loop take a turn. Recording the plan of a large model takes milliseconds, and so do preparing it to run and
 * the parts of loading: with a turn between them, other work waits for one of them at most.
 */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
