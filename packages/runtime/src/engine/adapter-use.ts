/** An adapter of a call. */
export interface AdapterUse {
  /** Number of the adapter; no later adapter has the same. */
  readonly id: number;
  /** Place in the stacks, 1 or more. */
  readonly place: number;
  /** Factor of its change. */
  readonly scale: number;
}

/** Root of calls without adapters. */
export const noAdapters = '0';

/** Name of a call's adapters: keys and values are equal only under equal adapters. */
export const rootOf = (adapters: readonly AdapterUse[]): string =>
  adapters.length === 0 ? noAdapters : adapters.map(({ id, scale }) => `a${id}*${scale}`).join('+');
