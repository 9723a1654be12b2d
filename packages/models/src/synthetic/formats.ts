import { type Mix, type MixName, mixes } from '@quern/quant';

/** What the matrices of a synthetic model can be: one of Quern's mixes, or MXFP4 for all but the output, which is no mix of llama.cpp's. */
export type SyntheticFormat = MixName | 'mxfp4';

export const syntheticFormats: Readonly<Record<SyntheticFormat, Mix>> = {
  ...mixes,
  mxfp4: { fileType: 38, base: 'mxfp4' },
};
