/** Elements of a block of the K formats. */
export const superBlock = 256;

/** Blocks that are fitted together: enough that a call of native code is nothing beside them. */
export const superBlocks = 16;

/**
 * Encodes `count` elements from `start`, whole blocks, and hands each block to `write` with its number; with the importance
 * of their columns [count], where they are a row.
 */
export type EncodeBlocks<Block> = (
  x: Float32Array,
  start: number,
  count: number,
  write: (block: Block, index: number) => void,
  importance?: Float32Array,
) => void;
