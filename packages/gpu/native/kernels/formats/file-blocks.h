// Blocks as in GGUF files → planes. Each format says where its file's blocks hold bits, sub-scales and factors: FileBlock<Format>
// has BYTES and VALUES of a block, and of group `g` of the block
//   bits(b, g, i)    of value i
//   subscale(b, g, j), factor(b, g, j)    as the planes have them
// Layouts: packages/quant/src/format.
#pragma once
#include "planes.h"

namespace quern {
namespace gpu {

using Bytes = Global<const unsigned char>;

FUNCTION unsigned two_bytes(Bytes b, int at) { return b[at] | unsigned(b[at + 1]) << 8; }
// Bits [4 · high, 4 · high + 4) of a byte.
FUNCTION unsigned half_byte(unsigned byte, int high) { return byte >> 4 * high & 15; }
// 16 bytes: values 0 to 15 in the low halves, 16 to 31 in the high ones.
FUNCTION unsigned split_halves(Bytes b, int at, int i) { return half_byte(b[at + i % 16], i / 16); }

template <class Format>
struct FileBlock;

struct Block32 {
  enum { VALUES = 32 };
  static FUNCTION unsigned subscale(Bytes, int, int) { return 0; }
};
struct Block256 {
  enum { VALUES = 256 };
};

template <>
struct FileBlock<Q4_0> : Block32 {
  enum { BYTES = 18 };
  static FUNCTION unsigned bits(Bytes b, int, int i) { return split_halves(b, 2, i); }
  static FUNCTION unsigned factor(Bytes b, int, int) { return two_bytes(b, 0); }
};
template <>
struct FileBlock<Q4_1> : Block32 {
  enum { BYTES = 20 };
  static FUNCTION unsigned bits(Bytes b, int, int i) { return split_halves(b, 4, i); }
  static FUNCTION unsigned factor(Bytes b, int, int j) { return two_bytes(b, 2 * j); }
};
template <>
struct FileBlock<Q5_0> : Block32 {
  enum { BYTES = 22 };
  static FUNCTION unsigned bits(Bytes b, int, int i) { return split_halves(b, 6, i) | (b[2 + i / 8] >> i % 8 & 1) << 4; }
  static FUNCTION unsigned factor(Bytes b, int, int) { return two_bytes(b, 0); }
};
template <>
struct FileBlock<Q5_1> : Block32 {
  enum { BYTES = 24 };
  static FUNCTION unsigned bits(Bytes b, int, int i) { return split_halves(b, 8, i) | (b[4 + i / 8] >> i % 8 & 1) << 4; }
  static FUNCTION unsigned factor(Bytes b, int, int j) { return two_bytes(b, 2 * j); }
};
template <>
struct FileBlock<Q8_0> : Block32 {
  enum { BYTES = 34 };
  static FUNCTION unsigned bits(Bytes b, int, int i) { return b[2 + i]; }
  static FUNCTION unsigned factor(Bytes b, int, int) { return two_bytes(b, 0); }
};
template <>
struct FileBlock<Iq4Nl> : FileBlock<Q4_0> {};
template <>
struct FileBlock<Mxfp4> : Block32 {
  enum { BYTES = 17 };
  static FUNCTION unsigned bits(Bytes b, int, int i) { return split_halves(b, 1, i); }
  // 2^(e − 128) as bf16: values are doubled.
  static FUNCTION unsigned factor(Bytes b, int, int) { return b[0] < 2 ? 0x20u << b[0] : (b[0] - 1u) << 7; }
};

// Pairs of bits: 32 bytes have four groups.
FUNCTION unsigned bit_pair(Bytes b, int at, int g, int i) { return b[at + 32 * (g / 4) + i] >> 2 * (g % 4) & 3; }
// Half bytes: 32 bytes have two groups.
FUNCTION unsigned half_bytes(Bytes b, int at, int g, int i) { return half_byte(b[at + 32 * (g / 2) + i], g % 2); }

template <>
struct FileBlock<Q2_K> : Block256 {
  enum { BYTES = 84 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) { return bit_pair(b, 16, g, i); }
  static FUNCTION unsigned subscale(Bytes b, int g, int j) { return b[2 * g + j]; }
  static FUNCTION unsigned factor(Bytes b, int, int j) { return two_bytes(b, 80 + 2 * j); }
};
template <>
struct FileBlock<Q3_K> : Block256 {
  enum { BYTES = 110 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) { return bit_pair(b, 32, g, i) | (b[i] >> g & 1) << 2; }
  static FUNCTION unsigned subscale(Bytes b, int g, int j) {
    const int at = 2 * g + j; // of 16, 6 bits each, 32 too large
    return (half_byte(b[96 + at % 8], at / 8) | (b[104 + at % 4] >> 2 * (at / 4) & 3) << 4) - 32;
  }
  static FUNCTION unsigned factor(Bytes b, int, int) { return two_bytes(b, 108); }
};

// 12 bytes from 4 on: 6 bits of eight scales and eight minimums.
struct SixBits : Block256 {
  static FUNCTION unsigned subscale(Bytes b, int g, int j) {
    const int at = 4 + 4 * j;
    if (g < 4) return b[at + g] & 63;
    return half_byte(b[8 + g], j) | (b[at + g - 4] >> 6) << 4;
  }
  static FUNCTION unsigned factor(Bytes b, int, int j) { return two_bytes(b, 2 * j); }
};
template <>
struct FileBlock<Q4_K> : SixBits {
  enum { BYTES = 144 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) { return half_bytes(b, 16, g, i); }
};
template <>
struct FileBlock<Q5_K> : SixBits {
  enum { BYTES = 176 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) { return half_bytes(b, 48, g, i) | (b[16 + i] >> g & 1) << 4; }
};
template <>
struct FileBlock<Q6_K> : Block256 {
  enum { BYTES = 210 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) {
    return half_byte(b[64 * (g / 4) + 32 * (g % 2) + i], g / 2 % 2) | bit_pair(b, 128, g, i) << 4;
  }
  static FUNCTION unsigned subscale(Bytes b, int g, int j) { return b[192 + 2 * g + j]; }
  static FUNCTION unsigned factor(Bytes b, int, int) { return two_bytes(b, 208); }
};
template <>
struct FileBlock<Iq4Xs> : Block256 {
  enum { BYTES = 136 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) { return split_halves(b, 8 + 16 * g, i); }
  static FUNCTION unsigned subscale(Bytes b, int g, int) {
    return (half_byte(b[4 + g / 2], g % 2) | (b[2 + g / 4] >> 2 * (g % 4) & 3) << 4) - 32;
  }
  static FUNCTION unsigned factor(Bytes b, int, int) { return two_bytes(b, 0); }
};
template <>
struct FileBlock<Iq8> : Block256 {
  enum { BYTES = 276 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) { return b[20 + 32 * g + i]; }
  static FUNCTION unsigned subscale(Bytes b, int g, int j) { return b[4 + 2 * g + j]; }
  static FUNCTION unsigned factor(Bytes b, int, int j) { return two_bytes(b, 2 * j); }
};
template <>
struct FileBlock<F8> {
  enum { BYTES = 132, VALUES = 128 };
  static FUNCTION unsigned bits(Bytes b, int g, int i) { return b[4 + 32 * g + i]; }
  static FUNCTION unsigned subscale(Bytes, int, int) { return 0; }
  static FUNCTION unsigned factor(Bytes b, int, int j) { return two_bytes(b, 2 * j); }
};

} // namespace gpu
} // namespace quern
