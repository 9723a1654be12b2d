import type { DecoderConfig } from '../config/decoder-config.js';

/** Fields with rotated rows, and the number of heads in each. */
export const rotatingHeads: Readonly<Record<string, (config: DecoderConfig) => number>> = {
  q: ({ heads }) => heads,
  qBias: ({ heads }) => heads,
  k: ({ kvHeads }) => kvHeads,
  kBias: ({ kvHeads }) => kvHeads,
};
