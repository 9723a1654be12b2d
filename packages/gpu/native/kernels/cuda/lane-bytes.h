// Quants of blocks as bytes, eight at a time, and their values as floats.
#pragma once
#include "../../dialect/packed.h"
#include "../formats/every.h"

namespace quern {
namespace gpu {

// The bits of eight neighbouring quants: value i in byte i / 2 of word i % 2.
struct EightBytes {
  unsigned words[2];
};

// 8 fields of BITS bits, the first one lowest, as bytes. BITS: 1, 2.
template <int BITS>
FUNCTION EightBytes spread(unsigned fields) {
  constexpr unsigned one = (1u << BITS) - 1, pair = (1u << 2 * BITS) - 1;
  const unsigned halves = (fields | fields << (16 - 4 * BITS)) & (BITS == 1 ? 0x000f000fu : 0x00ff00ffu); // four fields each
  const unsigned pairs = (halves | halves << (8 - 2 * BITS)) & pair * 0x01010101u;                          // a byte has two
  return {{pairs & one * 0x01010101u, pairs >> BITS & one * 0x01010101u}};
}

// The quants of COUNT values side by side, as stored.
template <class Format, int COUNT>
struct LaneBits {
  enum { LOW = Format::LOW, HIGH = Format::HIGH };
  Words<COUNT * LOW / 32> low;
  Words<COUNT * HIGH / 32> high;

  // at: in 8 values.
  FUNCTION void load(Planes planes, int at) {
    constexpr int low_words = COUNT * LOW / 32, high_words = COUNT * HIGH / 32;
    low = load_words<low_words>(planes.low + int64_t(at / (COUNT / 8)) * low_words);
    high = load_words<high_words>(planes.high + int64_t(at / (COUNT / 8)) * high_words);
  }
  FUNCTION EightBytes bytes(int eight) const {
    EightBytes bytes = low_bytes(eight);
    if (HIGH == 0) return bytes;
    const EightBytes more = spread<HIGH == 2 ? 2 : 1>(high.values[eight * HIGH / 4] >> eight * HIGH * 8 % 32 & ((1u << HIGH * 8) - 1));
    UNROLL for (int i = 0; i < 2; i++) bytes.words[i] |= more.words[i] << LOW % 8;
    return bytes;
  }

 private:
  FUNCTION EightBytes low_bytes(int eight) const {
    if (LOW == 2) return spread<2>(low.values[eight / 2] >> eight % 2 * 16 & 0xffff);
    return {{low.values[eight] & 0x0f0f0f0fu, low.values[eight] >> 4 & 0x0f0f0f0fu}};
  }
};

// Byte i of a word, as a float: 2⁷ more than a byte below 128, and 2¹⁵ more than any byte. An instruction.
FUNCTION float byte_and_2_7(unsigned word, int i) { return from_bits(bytes_from(word, 0x43000000u, 0x7044u | i << 8)); }
FUNCTION float byte_and_2_15(unsigned word, int i) { return from_bits(bytes_from(word, 0x47000000u, 0x7404u | i << 4)); }

// Values 8 · eight to 8 · eight + 7 of a lane. Quants below 128: scale · (2⁷ + bits) − scale · (2⁷ + zero) − min, rounded once. The
// second product is exact without minima (24 bits at most); with them 2⁻¹⁷ of the scale are lost.
template <class Format>
struct LaneValues {
  template <class Bits>
  static FUNCTION Eight of(const Bits& bits, int eight, float scale, float min) {
    const EightBytes bytes = bits.bytes(eight);
    const float less = fused(-scale, 128 - Format::quant(0), -min);
    Eight values;
    UNROLL for (int i = 0; i < 8; i++) values.values[i] = fused(scale, byte_and_2_7(bytes.words[i % 2], i / 2), less);
    return values;
  }
};

// Quants that are bytes less 128: four in each word. With a scale of 15 bits or fewer the second product of above is exact.
template <class Format>
FUNCTION Eight byte_values(unsigned first, unsigned second, float scale) {
  constexpr float zero = 32768.0f + 128.0f;
  Eight values;
  UNROLL for (int i = 0; i < 8; i++) {
    const float byte = byte_and_2_15(i < 4 ? first : second, i % 4);
    values.values[i] = Format::SUBSCALES == 0 ? fused(scale, byte, -zero * scale) : scale * (byte - zero);
  }
  return values;
}
template <class Format>
struct SignedValues {
  template <class Bits>
  static FUNCTION Eight of(const Bits& bits, int eight, float scale, float) {
    return byte_values<Format>(bits.low.values[2 * eight] ^ 0x80808080u, bits.low.values[2 * eight + 1] ^ 0x80808080u, scale);
  }
};
template <>
struct LaneValues<Q8_0> : SignedValues<Q8_0> {};
template <>
struct LaneValues<Iq8> : SignedValues<Iq8> {};

// The first four digits of a word, each as byte i of the sixteen of A, B, C, D.
template <unsigned A, unsigned B, unsigned C, unsigned D>
FUNCTION unsigned looked_up(unsigned digits) {
  const unsigned low = digits & 0x7777u, upper = 0x3210u | (digits >> 1 & 0x4444u);
  return bytes_from(bytes_from(A, B, low), bytes_from(C, D, low), upper);
}
template <class Format, unsigned A, unsigned B, unsigned C, unsigned D>
struct TableValues {
  template <class Bits>
  static FUNCTION Eight of(const Bits& bits, int eight, float scale, float) {
    const unsigned word = bits.low.values[eight];
    return byte_values<Format>(looked_up<A, B, C, D>(word), looked_up<A, B, C, D>(word >> 16), scale);
  }
};
template <class Format>
using Iq4Values = TableValues<Format, 0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u>; // as iq4_value
template <>
struct LaneValues<Iq4Nl> : Iq4Values<Iq4Nl> {};
template <>
struct LaneValues<Iq4Xs> : Iq4Values<Iq4Xs> {};
template <>
struct LaneValues<Mxfp4> : TableValues<Mxfp4, 0x83828180u, 0x8c888684u, 0x7d7e7f80u, 0x74787a7cu> {}; // as Mxfp4::quant

template <>
struct LaneValues<F8> {
  template <class Bits>
  static FUNCTION Eight of(const Bits& bits, int eight, float scale, float) {
    Eight values;
    UNROLL for (int i = 0; i < 4; i++) { // bytes 0 and 2, or 1 and 3, of a word
      const unsigned word = bits.low.values[2 * eight + i / 2], halves = e4m3_halves(i % 2 == 0 ? word << 8 : word);
      const int at = i / 2 * 4 + i % 2;
      values.values[at] = scale * from_f16((unsigned short)(halves & 0xffff));
      values.values[at + 2] = scale * from_f16((unsigned short)(halves >> 16));
    }
    return values;
  }
};

} // namespace gpu
} // namespace quern
