/**
 * Lets the event loop take a turn. Recording the plan of a large model takes milliseconds, and so does preparing it to run:
 * with a turn between them, other work waits for one of the two at most.
 */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
