import type { GgufFormat } from '@quern/quant';

/** The part a matrix plays, which decides its format in a mixed recipe. */
export type Role = 'embedding' | 'output' | 'attentionV' | 'ffnDown' | 'other';

/** Format of each matrix of a file. */
export type Recipe = (role: Role, layer: number, layers: number) => GgufFormat;

const uniform =
  (format: GgufFormat): Recipe =>
  () =>
    format;

/** The layers to which llama.cpp's mixes give more bits: the first and last eighth, and every third between. */
const moreBits = (layer: number, layers: number): boolean => {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= 7 * eighth || (layer - eighth) % 3 === 2;
};

/** llama.cpp's medium mixes: a K-quant, with Q6_K for the output and for the matrices that are hurt most. */
const medium =
  (format: GgufFormat): Recipe =>
  (role, layer, layers) => {
    if (role === 'embedding' || role === 'output') return 'q6_k';
    if (role === 'attentionV' || role === 'ffnDown') return moreBits(layer, layers) ? 'q6_k' : format;
    return format;
  };

/** Names as in llama.cpp's file types. */
export const recipes = {
  f32: uniform('f32'),
  f16: uniform('f16'),
  bf16: uniform('bf16'),
  q8_0: uniform('q8_0'),
  q6_k: uniform('q6_k'),
  q5_k_m: medium('q5_k'),
  q4_k_m: medium('q4_k'),
  q5_1: uniform('q5_1'),
  q5_0: uniform('q5_0'),
  q4_1: uniform('q4_1'),
  q4_0: uniform('q4_0'),
  q3_k: uniform('q3_k'),
  q2_k: uniform('q2_k'),
  iq4_xs: uniform('iq4_xs'),
  iq4_nl: uniform('iq4_nl'),
  mxfp4: uniform('mxfp4'),
} as const satisfies Record<string, Recipe>;

export type RecipeName = keyof typeof recipes;
