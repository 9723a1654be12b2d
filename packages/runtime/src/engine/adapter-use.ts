/** An adapter of a call. */
export interface AdapterUse {
  /** Equal for equal adapters alone; with a folder for offloaded blocks, in every process. */
  readonly identity: string;
  /** Place in the stacks, 1 or more. */
  readonly place: number;
  /** Factor of its change. */
  readonly scale: number;
}

/** Root of calls without adapters. */
export const noAdapters = '0';

/** Name of a call's adapters: keys and values are equal only under equal adapters. */
export const rootOf = (adapters: readonly AdapterUse[]): string =>
  adapters.length === 0
    ? noAdapters
    : adapters.map(({ identity, scale }) => `${identity}*${scale}`).join('+');
