import type { Decoder } from './codec.js';
import type { FormatLayout } from './formats.js';
import type { IqFactors } from './iq-factors.js';
import { iq1_m, iq1_mFactors } from './iq1_m.js';
import { iq1_s, iq1_sFactors } from './iq1_s.js';
import { iq2_s, iq2_sFactors } from './iq2_s.js';
import { iq2_xs, iq2_xsFactors } from './iq2_xs.js';
import { iq2_xxs, iq2_xxsFactors } from './iq2_xxs.js';
import { iq3_s, iq3_sFactors } from './iq3_s.js';
import { iq3_xxs, iq3_xxsFactors } from './iq3_xxs.js';
import { tq1_0, tq1_0Factors } from './tq1_0.js';
import { tq2_0, tq2_0Factors } from './tq2_0.js';

/**
 * Quern's own format, in memory only: the whole numbers of iq1, iq2, iq3 and tq, `x = d * scale * q`, 16 groups of 16
 * with their own scale.
 * Block: f32 d, 16 int8 scales, 256 int8 q. A quarter of the size of f32, and integer kernels can multiply it.
 */
export const iq8 = { name: 'iq8', blockSize: 256, blockBytes: 276 } as const satisfies Omit<
  FormatLayout,
  'typeId'
>;

const scalesAt = 4; // byte offsets in the block
const quants = 20;
const groupSize = 16;

const sources = {
  iq1_s: { codec: iq1_s, factors: iq1_sFactors },
  iq1_m: { codec: iq1_m, factors: iq1_mFactors },
  iq2_xxs: { codec: iq2_xxs, factors: iq2_xxsFactors },
  iq2_xs: { codec: iq2_xs, factors: iq2_xsFactors },
  iq2_s: { codec: iq2_s, factors: iq2_sFactors },
  iq3_xxs: { codec: iq3_xxs, factors: iq3_xxsFactors },
  iq3_s: { codec: iq3_s, factors: iq3_sFactors },
  tq1_0: { codec: tq1_0, factors: tq1_0Factors },
  tq2_0: { codec: tq2_0, factors: tq2_0Factors },
} as const satisfies Record<string, { codec: Decoder; factors: IqFactors }>;

/** A format with an exact iq8 form. */
export type Iq8Source = keyof typeof sources;

export function isIq8Source(format: string): format is Iq8Source {
  return Object.hasOwn(sources, format);
}

/**
 * Rewrites whole blocks of `format` as iq8, from the start of both arrays. false for a scale that is not finite: such a
 * block has no iq8 form. `dst` has room for the same number of blocks.
 */
export function toIq8(format: Iq8Source, src: Uint8Array, dst: Uint8Array): boolean {
  const { codec, factors } = sources[format];
  const view = new DataView(dst.buffer, dst.byteOffset, dst.byteLength);
  const values = new Float32Array(iq8.blockSize);
  for (let at = 0, to = 0; to < dst.length; at += factors.blockBytes, to += iq8.blockBytes) {
    const d = factors.unit(src, at);
    if (!Number.isFinite(d)) return false;
    codec.decode(src, at, values, 0, iq8.blockSize);
    view.setFloat32(to, d, true);
    for (let g = 0; g < iq8.blockSize / groupSize; g++) {
      const scale = factors.scale(src, at, g);
      const perUnit = d === 0 ? 0 : 1 / (d * scale);
      dst[to + scalesAt + g] = scale;
      for (let i = 0; i < groupSize; i++)
        dst[to + quants + groupSize * g + i] = Math.round(values[groupSize * g + i]! * perUnit);
    }
  }
  return true;
}

/** The first `count` elements, a whole number of blocks. */
export function decodeIq8(src: Uint8Array, count: number): Float32Array {
  const view = new DataView(src.buffer, src.byteOffset, src.byteLength);
  return Float32Array.from({ length: count }, (_, i) => {
    const block = Math.floor(i / iq8.blockSize) * iq8.blockBytes;
    const j = i % iq8.blockSize;
    const scale = Math.fround(view.getFloat32(block, true) * view.getInt8(block + scalesAt + (j >> 4)));
    return scale * view.getInt8(block + quants + j);
  });
}
