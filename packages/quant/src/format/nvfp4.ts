import { fp4Values } from './codebooks.js';
import type { Decoder } from './codec.js';

const blockSize = 64;
const blockBytes = 36;
const groupSize = 16;
const half = groupSize / 2;
const groups = blockSize / groupSize;

/**
 * 4-bit floats, 4 groups of 16 with an unsigned 8-bit float as scale: `x = scale * values[q]`.
 * Block: 4 scales (E4M3), 8 bytes q per group: element j low nibble, element j + 8 high nibble.
 */
export const nvfp4: Decoder = {
  layout: { typeId: 40, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      for (let g = 0; g < groups; g++) {
        const scale = halfOfE4m3(src[at + g]!);
        for (let j = 0; j < half; j++) {
          const q = src[at + groups + half * g + j]!;
          dst[to + groupSize * g + j] = scale * fp4Values[q & 15]!;
          dst[to + groupSize * g + half + j] = scale * fp4Values[q >> 4]!;
        }
      }
    }
  },
};

/** Half of an unsigned E4M3, because the values are doubled. NaN is zero, as in ggml. */
function halfOfE4m3(byte: number): number {
  if (byte === 0x7f) return 0;
  const exponent = (byte >> 3) & 15;
  const fraction = (byte & 7) / 8;
  return exponent === 0 ? fraction * 2 ** -7 : (1 + fraction) * 2 ** (exponent - 8);
}
