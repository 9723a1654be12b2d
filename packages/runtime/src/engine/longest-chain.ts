/** Most tokens of one chain. */
export const longestChain = 16;
