import { type Mix, type MixName, mixes } from '@quern/quant';

/**
 * Formats of a synthetic model's matrices: one of Quern's mixes, or MXFP4 except the output (not a mix of llama.cpp).
 */
export type SyntheticFormat = MixName | 'mxfp4';

export const syntheticFormats: Readonly<Record<SyntheticFormat, Mix>> = {
  ...mixes,
  mxfp4: { fileType: 38, base: 'mxfp4' },
};
