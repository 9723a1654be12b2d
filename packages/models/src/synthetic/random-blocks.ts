import { f32ToBf16, f32ToF16 } from '@quern/core';
import { formats, type GgufFormat } from '@quern/quant';

/** xorshift128 on 32-bit words: fast enough for gigabytes, and equal on all platforms. */
export class RandomWords {
  private readonly state: Uint32Array;

  constructor(seed: number) {
    this.state = Uint32Array.of(seed ^ 0x9e3779b9, seed * 2654435761 + 1, seed ^ 0x85ebca6b, 0xc2b2ae35);
    for (let i = 0; i < 16; i++) this.next();
  }

  next(): number {
    const { state } = this;
    let t = state[3]!;
    t ^= t << 11;
    t ^= t >>> 8;
    state[3] = state[2]!;
    state[2] = state[1]!;
    state[1] = state[0]!;
    state[0] = t ^ state[0]! ^ (state[0]! >>> 19);
    return state[0]!;
  }

  /** Uniform in [−1, 1). */
  unit(): number {
    return this.next() / 2 ** 31 - 1;
  }
}

/**
 * f16 fields of a block: byte offset, and value for weights of standard deviation 1. Quants are random bits; the
 * block's scale gives the standard deviation, its minimum (if any) gives mean 0.
 */
const scales: Partial<Record<GgufFormat, readonly (readonly [offset: number, value: number])[]>> = {
  q4_0: [[0, 1 / 4.6]],
  q4_1: [
    [0, 1 / 4.6],
    [2, -7.5 / 4.6],
  ],
  q5_0: [[0, 1 / 9.2]],
  q5_1: [
    [0, 1 / 9.2],
    [2, -15.5 / 9.2],
  ],
  q8_0: [[0, 1 / 74]],
  q2_k: [
    [80, 1 / 12],
    [82, 1.5 / 12],
  ],
  q3_k: [[108, 1 / 42]],
  q4_k: [
    [0, 1 / 257],
    [2, 7.5 / 257],
  ],
  q5_k: [
    [0, 1 / 530],
    [2, 15.5 / 530],
  ],
  q6_k: [[208, 1 / 1370]],
  iq4_nl: [[0, 1 / 67]],
  iq4_xs: [[0, 1 / 1245]],
  iq1_s: [[0, 1 / 7.2]],
  iq2_xxs: [[0, 1 / 53]],
  iq2_xs: [[0, 1 / 56]],
  iq2_s: [[0, 1 / 56]],
  iq3_xxs: [[0, 1 / 142]],
  iq3_s: [[0, 1 / 140]],
  tq1_0: [[52, 1 / 0.82]],
  tq2_0: [[64, 1 / 1.22]],
  q1_0: [[0, 1]],
};

/** The first byte of a block. mxfp4: the exponent; its values have a root mean square of 5.9. */
const byteFields: Partial<Record<GgufFormat, (deviation: number) => number>> = {
  mxfp4: (deviation) => 128 + Math.round(Math.log2(deviation / 5.9)),
};

function fillDense(
  format: 'f32' | 'f16' | 'bf16',
  bytes: Uint8Array,
  words: RandomWords,
  deviation: number,
): void {
  const uniform = deviation * Math.sqrt(3);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (format === 'f32')
    for (let i = 0; i < bytes.length; i += 4) view.setFloat32(i, words.unit() * uniform, true);
  else {
    const round = format === 'f16' ? f32ToF16 : f32ToBf16;
    for (let i = 0; i < bytes.length; i += 2) view.setUint16(i, round(words.unit() * uniform), true);
  }
}

/** Factors on a block's fields, one per block at random: 3/4 to 5/4. Real blocks also differ in scale. */
const spread = Array.from({ length: 16 }, (_, i) => 0.75 + i / 30);

/**
 * Fills whole blocks of a format with random weights: mean 0, about the given standard deviation. `sharesScales`: all
 * blocks have the same scale.
 */
export function fillBlocks(
  format: GgufFormat,
  bytes: Uint8Array,
  words: RandomWords,
  deviation: number,
  sharesScales = false,
): void {
  if (format === 'f32' || format === 'f16' || format === 'bf16') {
    fillDense(format, bytes, words, deviation);
    return;
  }
  const whole = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
  for (let i = 0; i < whole.length; i++) whole[i] = words.next();
  for (let i = whole.length * 4; i < bytes.length; i++) bytes[i] = words.next();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields = (scales[format] ?? []).map(
    ([offset, value]) =>
      [offset, spread.map((factor) => f32ToF16(value * deviation * (sharesScales ? 1 : factor)))] as const,
  );
  const first = byteFields[format]?.(deviation);
  for (let block = 0; block < bytes.length; block += formats[format].blockBytes) {
    const size = words.next() & 15;
    for (const [offset, bits] of fields) view.setUint16(block + offset, bits[size]!, true);
    if (first !== undefined) bytes[block] = first;
  }
}
