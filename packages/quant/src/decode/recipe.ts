import { decode } from '../format/decode.js';
import { toF8Blocks } from '../format/f8-blocks.js';
import type { GgufFormat } from '../format/formats.js';
import { type Iq8Source, toIq8 } from '../format/iq8.js';
import { awqWeightsAsGptq, awqZerosAsGptq } from '../hugging-face/awq.js';
import { decodeF8, type F8Format, type F8Scales } from '../hugging-face/f8.js';

/** How to decode bytes of a file. */
export type Recipe =
  /** Whole blocks of a format, as f32. */
  | { readonly kind: 'f32'; readonly format: GgufFormat }
  /** Whole blocks, as iq8. */
  | { readonly kind: 'iq8'; readonly format: Iq8Source }
  /** 8-bit floats of a matrix, from element `first` on, as f32. */
  | { readonly kind: 'f8'; readonly format: F8Format; readonly scales: F8Scales; readonly first: number }
  /** E4M3 of a matrix, from element `first` on, as f8. */
  | { readonly kind: 'f8Blocks'; readonly scales: F8Scales; readonly first: number }
  /** AWQ weights [8 · n, columns / 8], repacked as GPTQ. */
  | { readonly kind: 'awqWeights'; readonly columns: number }
  /** AWQ zero points, repacked as GPTQ. */
  | { readonly kind: 'awqZeros' };

/**
 * Fills `into`, which has exactly the right length. Both arrays begin at a multiple of 4 bytes. false if the bytes have
 * no such form: iq8 with a scale that is not finite, f8 with a NaN or such a scale.
 * @throws FormatError BAD_LENGTH.
 */
export function decodePiece(recipe: Recipe, bytes: Uint8Array, into: Uint8Array): boolean {
  switch (recipe.kind) {
    case 'f32':
      decode(recipe.format, bytes, 0, floatsOf(into), 0, into.length / 4);
      return true;
    case 'iq8':
      return toIq8(recipe.format, bytes, into);
    case 'f8':
      decodeF8(recipe.format, bytes, floatsOf(into), recipe.first, recipe.scales);
      return true;
    case 'f8Blocks':
      return toF8Blocks(bytes, into, recipe.first, recipe.scales);
    case 'awqWeights': {
      const words = wordsOf(bytes);
      wordsOf(into).set(awqWeightsAsGptq(words, recipe.columns, (8 * words.length) / recipe.columns));
      return true;
    }
    case 'awqZeros':
      wordsOf(into).set(awqZerosAsGptq(wordsOf(bytes)));
      return true;
  }
}

export const floatsOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array =>
  new Float32Array(buffer, byteOffset, byteLength / 4);

export const wordsOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Int32Array =>
  new Int32Array(buffer, byteOffset, byteLength / 4);
