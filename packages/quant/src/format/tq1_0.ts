import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';

const blockSize = 256;
const blockBytes = 54;
const dAt = 52; // byte offset in the block

/** Runs of bytes. Digit n of all bytes of a run: `bytes` consecutive elements. */
const runs = [
  { at: 0, bytes: 32, digits: 5 },
  { at: 32, bytes: 16, digits: 5 },
  { at: 48, bytes: 4, digits: 4 },
] as const;

export const tq1_0Factors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at + dAt),
  scale: () => 1,
};

/**
 * Ternary: `x = (q - 1) * d`, q in 0..2. A byte holds 5 base-3 digits; digit n = ⌊3 · frac(3ⁿ · byte / 256)⌋.
 * Block: 32 bytes of 5 digits, 16 of 5, 4 of 4, f16 d.
 */
export const tq1_0: Decoder = {
  layout: { typeId: 34, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (
      let at = srcOffset, block = dstOffset;
      block < dstOffset + count;
      at += blockBytes, block += blockSize
    ) {
      const d = readF16(src, at + dAt);
      let to = block;
      for (const run of runs)
        for (let digit = 0, power = 1; digit < run.digits; digit++, power *= 3)
          for (let j = 0; j < run.bytes; j++)
            dst[to++] = (((((src[at + run.at + j]! * power) & 255) * 3) >> 8) - 1) * d;
    }
  },
};
