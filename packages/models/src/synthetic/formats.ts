import { type Mix, mixes } from '@quern/quant';

/** What the matrices of a synthetic model can be: Quern's mixes, and MXFP4 throughout, which is no mix of llama.cpp's. */
export const syntheticFormats = {
  ...mixes,
  mxfp4: { fileType: 38, base: 'mxfp4' },
} as const satisfies Record<string, Mix>;

export type SyntheticFormat = keyof typeof syntheticFormats;
