// Weights of blocks on the device. 32 values of a row are a group. What a group has is stored in planes, so that the lanes of a
// warp load neighbouring words: low bits, high bits, sub-scales, factors. A value is scale · quant − min.
//
// A format is a type with
//   LOW, HIGH        bits of a quant in each plane, and so words of a group
//   HALVES           1: one scale per group; 2: one per 16 values
//   SUBSCALES        bytes of sub-scales per group: 0, 1, 2
//   FACTORS, SPAN    16-bit numbers that SPAN neighbouring groups share
//   MINS             whether values have a minimum
//   quant(bits)      the number that the bits stand for
//   INTEGERS         whether that is the integer (bits ^ FLIP) − ZERO
//   scale, min       of factors, sub-scales and the half
#pragma once
#include "../e4m3.h"
#include "../formats.h"

namespace quern {
namespace gpu {

CONSTANT int GROUP = 32;

// The planes of a weight [rows, groups · 32].
struct Planes {
  Global<const unsigned> low;            // [rows, groups, LOW]
  Global<const unsigned> high;           // [rows, groups, HIGH]
  Global<const unsigned char> subscales; // [rows, groups, SUBSCALES]
  Global<const unsigned short> factors;  // [rows, groups / SPAN, FACTORS]
};

template <int COUNT>
struct Words {
  unsigned values[COUNT > 0 ? COUNT : 1];
};

template <int COUNT>
FUNCTION Words<COUNT> load_words(Global<const unsigned> from) {
  Words<COUNT> words;
  if (COUNT % 4 == 0)
    UNROLL for (int i = 0; i < COUNT / 4; i++) {
      const Uint4 four = as<const Uint4>(from)[i];
      UNROLL for (int j = 0; j < 4; j++) words.values[(4 * i + j) % (COUNT + 1)] = four[j]; // %: COUNT may be 1 or 2
    }
  else if (COUNT == 2) {
    const uint64_t two = as<const uint64_t>(from)[0];
    words.values[0] = unsigned(two);
    words.values[COUNT / 2] = unsigned(two >> 32);
  } else words.values[0] = from[0];
  return words;
}
template <>
FUNCTION Words<0> load_words<0>(Global<const unsigned>) { return Words<0>(); }

// One group in registers.
template <class Format>
struct Group {
  Words<Format::LOW> low;
  Words<Format::HIGH> high;
  float scale[Format::HALVES], min[Format::HALVES];
};

struct Scales {
  unsigned factors, subscales;
};

// Of group `at`.
template <class Format>
FUNCTION Scales scales_of(Planes planes, int64_t at) {
  Scales scales = {0, 0};
  const int64_t factor = at / Format::SPAN;
  if (Format::FACTORS == 2) scales.factors = as<const unsigned>(planes.factors)[factor];
  else scales.factors = planes.factors[factor];
  if (Format::SUBSCALES == 1) scales.subscales = planes.subscales[at];
  if (Format::SUBSCALES == 2) scales.subscales = as<const unsigned short>(planes.subscales)[at];
  return scales;
}

// Group `at` of the weight: row · groups + group of the row.
template <class Format>
FUNCTION Group<Format> load_group(Planes planes, int64_t at) {
  Group<Format> group;
  group.low = load_words<Format::LOW>(planes.low + at * Format::LOW);
  group.high = load_words<Format::HIGH>(planes.high + at * Format::HIGH);
  const Scales scales = scales_of<Format>(planes, at);
  UNROLL for (int side = 0; side < Format::HALVES; side++) {
    group.scale[side] = Format::scale(scales.factors, scales.subscales, side);
    group.min[side] = Format::min(scales.factors, scales.subscales, side);
  }
  return group;
}

// Bits of the float 2^(23 − at): bit `at` of its mantissa stands for 1.
FUNCTION unsigned power_with_ones_at(int at) { return unsigned(150 - at) << 23; }

// The bits of quant i, and what they stand for.
template <class Format, bool INTEGERS>
struct QuantAt {
  static FUNCTION float of(THREAD const Group<Format>& group, int i) {
    constexpr int LOW = Format::LOW, HIGH = Format::HIGH;
    unsigned bits = group.low.values[i * LOW / 32] >> i * LOW % 32 & ((1u << LOW) - 1);
    if (HIGH > 0) bits |= (group.high.values[i * HIGH / 32] >> i * HIGH % 32 & ((1u << HIGH) - 1)) << LOW;
    return Format::quant(bits);
  }
};
// Integers (bits ^ FLIP) − ZERO: a mantissa takes the bits at their own place in the word, or 16 below it if they would reach the
// exponent: no shift, no conversion. The subtraction does not round.
template <class Format>
struct QuantAt<Format, true> {
  static FUNCTION float of(THREAD const Group<Format>& group, int i) {
    constexpr int LOW = Format::LOW, HIGH = Format::HIGH;
    const int place = i * LOW % 32, down = place + LOW + HIGH <= 23 ? 0 : 16, at = place - down;
    unsigned base = power_with_ones_at(at) ^ unsigned(Format::FLIP) << at;
    if (HIGH > 0) {
      const int from = i * HIGH % 32, to = at + LOW;
      const unsigned word = group.high.values[i * HIGH / 32], moved = from > to ? word >> (from - to) : word << (to - from);
      base = masked_xor(moved, ((1u << HIGH) - 1) << to, base);
    }
    const unsigned bits = masked_xor(group.low.values[i * LOW / 32] >> down, ((1u << LOW) - 1) << at, base);
    return from_bits(bits) - (from_bits(power_with_ones_at(at)) + float(Format::ZERO));
  }
};

// Quant i of a group. i is known when the loop around it is unrolled.
template <class Format>
FUNCTION float quant_of(const Group<Format> group, int i) {
  return QuantAt<Format, bool(Format::INTEGERS)>::of(group, i);
}

// Value i of a group.
template <class Format>
FUNCTION float value_of(const Group<Format> group, int i) {
  const int side = i * Format::HALVES / GROUP;
  const float value = group.scale[side] * quant_of(group, i);
  return Format::MINS ? value - group.min[side] : value;
}

// The word that has BITS bits each of values at .. at + 7 of a plane; at: a multiple of 8.
template <int BITS>
FUNCTION uint64_t word_of_eight(Global<const unsigned> plane, int64_t at) {
  return BITS == 8 ? as<const uint64_t>(plane)[at / 8] : plane[at * BITS / 32];
}
// These bits, the first value's lowest; at: in the row or in the group.
template <int BITS>
FUNCTION uint64_t bits_of_eight(uint64_t word, int at) { return BITS < 4 ? word >> at * BITS % 32 : word; }

// Eight neighbouring values as stored.
struct StoredEight {
  uint64_t low, high;
  Scales scales;
};

// A weight of blocks by index: row · width + k.
template <class Format>
struct Blocks {
  Planes planes;
  FUNCTION float at(int64_t i) const {
    constexpr int LOW = Format::LOW, HIGH = Format::HIGH;
    const int64_t low = i * LOW, high = i * HIGH;
    unsigned bits = planes.low[low / 32] >> low % 32 & ((1u << LOW) - 1);
    if (HIGH > 0) bits |= (planes.high[high / 32] >> high % 32 & ((1u << HIGH) - 1)) << LOW;
    return value(bits, scales_of<Format>(planes, i / GROUP), int(i % GROUP));
  }
  // Values i to i + 7; i: a multiple of 8.
  FUNCTION StoredEight stored(int64_t i) const {
    constexpr int HIGH = Format::HIGH > 0 ? Format::HIGH : 1;
    return {word_of_eight<Format::LOW>(planes.low, i), Format::HIGH > 0 ? word_of_eight<HIGH>(planes.high, i) : 0,
            scales_of<Format>(planes, i / GROUP)};
  }
  // They begin at place `at` of a group.
  static FUNCTION Eight decoded(StoredEight stored, int at) {
    constexpr int LOW = Format::LOW, HIGH = Format::HIGH > 0 ? Format::HIGH : 1;
    const uint64_t low = bits_of_eight<LOW>(stored.low, at), high = bits_of_eight<HIGH>(stored.high, at);
    Eight eight;
    UNROLL for (int j = 0; j < 8; j++) {
      const unsigned bits = unsigned(low >> j * LOW) & ((1u << LOW) - 1), more = unsigned(high >> j * HIGH) & ((1u << HIGH) - 1);
      eight.values[j] = value(Format::HIGH > 0 ? bits | more << LOW : bits, stored.scales, at);
    }
    return eight;
  }
  // The value with these bits at place `at` of a group.
  static FUNCTION float value(unsigned bits, Scales scales, int at) {
    const int side = at * Format::HALVES / GROUP;
    const float value = Format::scale(scales.factors, scales.subscales, side) * Format::quant(bits);
    return Format::MINS ? value - Format::min(scales.factors, scales.subscales, side) : value;
  }
};

// An integer below 2²³ less `zero`, exact, without a conversion.
FUNCTION float integer_less(unsigned bits, float zero) { return from_bits(0x4b000000u | bits) - (8388608.0f + zero); }

// Byte `i` (0 to 15) of four words.
FUNCTION unsigned byte_of(unsigned a, unsigned b, unsigned c, unsigned d, unsigned i) {
  const unsigned word = i < 8 ? (i < 4 ? a : b) : (i < 12 ? c : d);
  return word >> i % 4 * 8 & 255;
}

// ---- what formats have in common

template <int LOW_BITS, int HIGH_BITS>
struct Bits {
  enum { LOW = LOW_BITS, HIGH = HIGH_BITS };
};
// (bits ^ FLIP) − ZERO.
template <int ZERO_BITS, int FLIP_BITS = 0>
struct Integers {
  enum { INTEGERS = 1, ZERO = ZERO_BITS, FLIP = FLIP_BITS };
};
struct NotIntegers {
  enum { INTEGERS = 0 };
};
struct NoMins {
  enum { MINS = 0 };
  static FUNCTION float min(unsigned, unsigned, int) { return 0; }
};
// One f16 scale per group.
struct ScaleOfGroup : NoMins {
  enum { HALVES = 1, SUBSCALES = 0, FACTORS = 1, SPAN = 1 };
  static FUNCTION float scale(unsigned factors, unsigned, int) { return from_f16((unsigned short)(factors)); }
};
// An f16 scale and an f16 addend per group.
struct ScaleAndAddend {
  enum { HALVES = 1, SUBSCALES = 0, FACTORS = 2, SPAN = 1, MINS = 1 };
  static FUNCTION float scale(unsigned factors, unsigned, int) { return from_f16((unsigned short)(factors & 0xffff)); }
  static FUNCTION float min(unsigned factors, unsigned, int) { return -from_f16((unsigned short)(factors >> 16)); }
};
// An f16 factor per 256 values, and a signed byte per 16.
struct ByteScales : NoMins {
  enum { HALVES = 2, SUBSCALES = 2, FACTORS = 1, SPAN = 8 };
  static FUNCTION float scale(unsigned factors, unsigned subscales, int side) {
    return from_f16((unsigned short)(factors)) * integer_less((subscales >> 8 * side & 255) ^ 128, 128);
  }
};
// Two f16 factors per 256 values; per group a byte for the scale, and one for the minimum.
struct ScalesAndMins {
  enum { HALVES = 1, SUBSCALES = 2, FACTORS = 2, SPAN = 8, MINS = 1 };
  static FUNCTION float scale(unsigned factors, unsigned subscales, int) {
    return from_f16((unsigned short)(factors & 0xffff)) * integer_less(subscales & 255, 0);
  }
  static FUNCTION float min(unsigned factors, unsigned subscales, int) {
    return from_f16((unsigned short)(factors >> 16)) * integer_less(subscales >> 8, 0);
  }
};

// ---- formats

struct Q4_0 : Bits<4, 0>, ScaleOfGroup, Integers<8> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 8); }
};
struct Q4_1 : Bits<4, 0>, ScaleAndAddend, Integers<0> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 0); }
};
struct Q5_0 : Bits<4, 1>, ScaleOfGroup, Integers<16> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 16); }
};
struct Q5_1 : Bits<4, 1>, ScaleAndAddend, Integers<0> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 0); }
};
struct Q8_0 : Bits<8, 0>, ScaleOfGroup, Integers<128, 128> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits ^ 128, 128); }
};
struct Q2_K : Bits<2, 0>, Integers<0> {
  // A byte per 16 values: scale in the low four bits, minimum in the high four.
  enum { HALVES = 2, SUBSCALES = 2, FACTORS = 2, SPAN = 8, MINS = 1 };
  static FUNCTION float scale(unsigned factors, unsigned subscales, int side) {
    return from_f16((unsigned short)(factors & 0xffff)) * integer_less(subscales >> 8 * side & 15, 0);
  }
  static FUNCTION float min(unsigned factors, unsigned subscales, int side) {
    return from_f16((unsigned short)(factors >> 16)) * integer_less(subscales >> (8 * side + 4) & 15, 0);
  }
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 0); }
};
struct Q3_K : Bits<2, 1>, ByteScales, Integers<4> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 4); }
};
struct Q4_K : Bits<4, 0>, ScalesAndMins, Integers<0> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 0); }
};
struct Q5_K : Bits<4, 1>, ScalesAndMins, Integers<0> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 0); }
};
struct Q6_K : Bits<4, 2>, ByteScales, Integers<32> {
  static FUNCTION float quant(unsigned bits) { return integer_less(bits, 32); }
};
// −127 −104 −83 −65 −49 −35 −22 −10 1 13 25 38 53 69 89 113, each + 128.
FUNCTION float iq4_value(unsigned bits) {
  return integer_less(byte_of(0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u, bits), 128);
}
struct Iq4Nl : Bits<4, 0>, ScaleOfGroup, NotIntegers {
  static FUNCTION float quant(unsigned bits) { return iq4_value(bits); }
};
struct Iq4Xs : Bits<4, 0>, NoMins, NotIntegers {
  // A signed byte per group.
  enum { HALVES = 1, SUBSCALES = 1, FACTORS = 1, SPAN = 8 };
  static FUNCTION float scale(unsigned factors, unsigned subscales, int) {
    return from_f16((unsigned short)(factors)) * integer_less(subscales ^ 128, 128);
  }
  static FUNCTION float quant(unsigned bits) { return iq4_value(bits); }
};
// What codebook formats become at load. The factor is an f32, its low half first; a signed byte per 16 values.
struct Iq8 : Bits<8, 0>, NoMins, Integers<128, 128> {
  enum { HALVES = 2, SUBSCALES = 2, FACTORS = 2, SPAN = 8 };
  static FUNCTION float scale(unsigned factors, unsigned subscales, int side) {
    return from_bits(factors) * integer_less((subscales >> 8 * side & 255) ^ 128, 128);
  }
  static FUNCTION float quant(unsigned bits) { return integer_less(bits ^ 128, 128); }
};
// E4M3 as in its file. An f32 scale per 128 values, its low half first. Quants are 1/256 of E4M3's values.
struct F8 : Bits<8, 0>, NoMins, NotIntegers {
  enum { HALVES = 1, SUBSCALES = 0, FACTORS = 2, SPAN = 4 };
  static FUNCTION float scale(unsigned factors, unsigned, int) { return 256 * from_bits(factors); }
  static FUNCTION float quant(unsigned bits) { return from_f16((unsigned short)(e4m3_halves(bits << 8))); }
};
struct Mxfp4 : Bits<4, 0>, NoMins, NotIntegers {
  // The scale is a power of two: as bf16. Quants are doubled: 0 1 2 3 4 6 8 12 0 −1 −2 −3 −4 −6 −8 −12, each + 128.
  enum { HALVES = 1, SUBSCALES = 0, FACTORS = 1, SPAN = 1 };
  static FUNCTION float scale(unsigned factors, unsigned, int) { return from_bf16((unsigned short)(factors)); }
  static FUNCTION float quant(unsigned bits) {
    return integer_less(byte_of(0x83828180u, 0x8c888684u, 0x7d7e7f80u, 0x74787a7cu, bits), 128);
  }
};

} // namespace gpu
} // namespace quern
