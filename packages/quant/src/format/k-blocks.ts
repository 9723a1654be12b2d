/** Elements per block of the K formats. */
export const superBlock = 256;

/** Blocks fitted together: enough to make the cost of a native call negligible. */
export const superBlocks = 16;

/**
 * Encodes `count` elements from `start`, whole blocks, and passes each block to `write` with its number. With the
 * importance of the columns [count], the elements are one row.
 */
export type EncodeBlocks<Block> = (
  x: Float32Array,
  start: number,
  count: number,
  write: (block: Block, index: number) => void,
  importance?: Float32Array,
) => void;
