/** Lets the event loop turn: long work on its thread is done in slices of a few milliseconds. */
export const nextSlice = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
