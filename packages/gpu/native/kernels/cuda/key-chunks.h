// Sixteen keys and values of a cache in shared memory, as stored, and as operands of tensor cores. A warp copies and reads its own.
#pragma once
#include "../../dialect/nvidia.h"
#include "bf16-parts.h"
#include "group-arguments.h"

namespace quern {
namespace gpu {

constexpr int CHUNK_KEYS = 16;

struct TwoKeyTiles { // keys 0 to 7 and 8 to 15, for 16 elements
  Fragment16x8 of[2];
};
struct FourValueTiles { // 16 values, for four times 8 elements
  Fragment16x8 of[4];
};

FUNCTION int shuffle_int(int x, int from) { return int(to_bits(shuffle(from_bits(unsigned(x)), from))); }

// Eight floats as f16, to nearest. Leaves what remains of the floats; nothing of infinity.
FUNCTION Uint4 take_half(Eight& eight) {
  unsigned words[4];
  UNROLL for (int i = 0; i < 8; i++) {
    const unsigned part = to_f16(eight.values[i]);
    words[i / 2] = i % 2 == 0 ? part : words[i / 2] | part << 16;
    const float rest = rounded_sum(eight.values[i], -from_f16((unsigned short)part));
    eight.values[i] = is_nan(rest) ? 0.0f : rest;
  }
  return Uint4{words[0], words[1], words[2], words[3]};
}

// q and softmax weights as three numbers of bf16: products of floats.
struct Bf16Operands {
  enum { parts = 3, narrow = 0 };
  template <bool LAST>
  static FUNCTION Uint4 take(Eight& eight) { return take_part<LAST>(eight); }
  static FUNCTION void multiply(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) { multiply_bf16(c, a, b); }
};

// As two numbers of f16: 22 bits. The range of f16 is narrow: floats are multiplied by a power of two before.
struct F16Operands {
  enum { parts = 2, narrow = 1 };
  template <bool>
  static FUNCTION Uint4 take(Eight& eight) { return take_half(eight); }
  static FUNCTION void multiply(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) { multiply_f16(c, a, b); }
};

// The power of two that brings `top` into [2¹⁴, 2¹⁵): f16 ends at 65504. Its inverse is a normal float.
FUNCTION float unit_of(float top) {
  const int exponent = 268 - int(to_bits(top) >> 23 & 255);
  return from_bits(unsigned(exponent < 253 ? exponent : 253) << 23);
}
FUNCTION float inverse_of_unit(float unit) { return from_bits((254u << 23) - to_bits(unit)); }

// Elements of 16 bits. Rows of K, then of V: eights of a row are exchanged, so that ldmatrix meets no bank twice.
template <int ELEMENTS, class OfNumbers>
struct HalfChunk {
  using Operands = OfNumbers;
  using Unit = Uint4;
  enum { scaled = 0, warps = ELEMENTS > 64 ? GROUP_WARPS_WIDE_HALVES : GROUP_WARPS };
  enum { eights = ELEMENTS / 8, row = eights, values = CHUNK_KEYS * row, units = 2 * values };

  static FUNCTION Unit zero() { return Uint4{0, 0, 0, 0}; }
  static FUNCTION int place(int key, int eight) { return key * eights + (eight ^ key % 8); }
  static FUNCTION int element_of_q(int step, int column) { return step * 16 + column; }
  static FUNCTION int element_of_sum(int tile, int column) { return tile * 8 + column; }
  static FUNCTION int element_of_unit(int unit) { return (unit % row ^ unit / row % 8) * 8; }

  static FUNCTION void copy(Shared<Unit> to, Global<const Byte> k, Global<const Byte> v, int slot, int64_t step, int d) {
    UNROLL for (int i = 0; i < CHUNK_KEYS * eights / WARP; i++) {
      const int item = i * WARP + lane(), key = item / eights, eight = item % eights;
      const int64_t at = shuffle_int(slot, key) * step + eight * 16;
      if (eight * 8 >= d) continue;
      copy_async(to + place(key, eight), as<const Uint4>(k + at));
      copy_async(to + (values + place(key, eight)), as<const Uint4>(v + at));
    }
  }
  static FUNCTION TwoKeyTiles keys(Shared<Unit> chunk, int step) {
    const Fragment16x16 two = load_matrices(chunk + place(lane() / 16 * 8 + lane() % 8, 2 * step + lane() / 8 % 2));
    return {{{{two.words[0], two.words[1]}}, {{two.words[2], two.words[3]}}}};
  }
  static FUNCTION FourValueTiles tiles(Shared<Unit> chunk, int four) {
    const int key = lane() / 8 % 2 * 8 + lane() % 8, eight = 4 * four + lane() / 16;
    const Fragment16x16 a = load_transposed(chunk + (values + place(key, eight)));
    const Fragment16x16 b = load_transposed(chunk + (values + place(key, eight + 2)));
    return {{{{a.words[0], a.words[1]}}, {{a.words[2], a.words[3]}}, {{b.words[0], b.words[1]}}, {{b.words[2], b.words[3]}}}};
  }
};

// Bytes 0 and 2 of a word as f16.
struct HalvesOfI8 {
  // 1024 + 128 + x, without carry, then x.
  static FUNCTION unsigned even(unsigned word) { return add_halves(((word ^ 0x00800080u) & 0x00ff00ffu) | 0x64006400u, 0xe480e480u); }
};
struct HalvesOfE4m3 {
  static FUNCTION unsigned even(unsigned word) { return e4m3_halves(word << 8); }
};

// Elements of a byte. Rows lie four words longer than they are: lanes of a load meet no bank twice. A word of K has elements 0 and 2,
// 1 and 3 of four as neighbours of a fragment; of V one element for each of four tiles.
template <int ELEMENTS, class Halves>
struct ByteChunk {
  using Operands = F16Operands;
  using Unit = unsigned;
  enum { scaled = 1, warps = GROUP_WARPS };
  enum { words = ELEMENTS / 4, row = words + 4, values = CHUNK_KEYS * row, units = 2 * values };

  static FUNCTION Unit zero() { return 0; }
  static FUNCTION int element_of_q(int step, int column) {
    return step * 16 + column % 8 / 2 * 4 + column % 2 * 2 + column / 8;
  }
  static FUNCTION int element_of_sum(int tile, int column) { return tile / 4 * 32 + column * 4 + tile % 4; }
  static FUNCTION int element_of_unit(int unit) { return unit % row * 4; }

  static FUNCTION void copy(Shared<Unit> to, Global<const Byte> k, Global<const Byte> v, int slot, int64_t step, int d) {
    UNROLL for (int i = 0; i < CHUNK_KEYS * words / WARP; i++) {
      const int item = i * WARP + lane(), key = item / words, word = item % words;
      const int64_t at = shuffle_int(slot, key) * step + word * 4;
      if (word * 4 >= d) continue;
      copy_async(to + (key * row + word), as<const unsigned>(k + at));
      copy_async(to + (values + key * row + word), as<const unsigned>(v + at));
    }
  }
  static FUNCTION TwoKeyTiles keys(Shared<Unit> chunk, int step) {
    TwoKeyTiles two;
    UNROLL for (int n = 0; n < 2; n++) {
      const unsigned word = chunk[(n * 8 + lane() / 4) * row + step * 4 + lane() % 4];
      two.of[n] = {{Halves::even(word), Halves::even(word >> 8)}};
    }
    return two;
  }
  static FUNCTION FourValueTiles tiles(Shared<Unit> chunk, int four) {
    FourValueTiles made;
    UNROLL for (int half = 0; half < 2; half++) { // keys of the first or second word of a fragment
      const int at = values + (half * 8 + lane() % 4 * 2) * row + four * 8 + lane() / 4;
      const unsigned first = chunk[at], second = chunk[at + row];
      UNROLL for (int odd = 0; odd < 2; odd++) {
        const unsigned a = Halves::even(first >> 8 * odd), b = Halves::even(second >> 8 * odd);
        made.of[odd].words[half] = (a & 0xffffu) | b << 16;
        made.of[odd + 2].words[half] = a >> 16 | (b & 0xffff0000u);
      }
    }
    return made;
  }
};

template <int ELEMENTS, class Kind>
struct ChunkOf;
template <int ELEMENTS>
struct ChunkOf<ELEMENTS, CacheF16> : HalfChunk<ELEMENTS, F16Operands> {};
template <int ELEMENTS>
struct ChunkOf<ELEMENTS, CacheBf16> : HalfChunk<ELEMENTS, Bf16Operands> {};
template <int ELEMENTS>
struct ChunkOf<ELEMENTS, CacheI8> : ByteChunk<ELEMENTS, HalvesOfI8> {};
template <int ELEMENTS>
struct ChunkOf<ELEMENTS, CacheE4m3> : ByteChunk<ELEMENTS, HalvesOfE4m3> {};

// Sums of a lane in shared memory, beside those of other lanes.
FUNCTION void put_sums(Shared<Uint4> to, int place, const Sums16x8& sums) {
  to[place] = Uint4{to_bits(sums.values[0]), to_bits(sums.values[1]), to_bits(sums.values[2]), to_bits(sums.values[3])};
}
FUNCTION void put_sums(Shared<unsigned> to, int place, const Sums16x8& sums) {
  UNROLL for (int i = 0; i < 4; i++) to[(place / WARP * 4 + i) * WARP + place % WARP] = to_bits(sums.values[i]);
}
FUNCTION Sums16x8 get_sums(Shared<Uint4> from, int place) {
  const Uint4 words = from[place];
  return {{from_bits(words[0]), from_bits(words[1]), from_bits(words[2]), from_bits(words[3])}};
}
FUNCTION Sums16x8 get_sums(Shared<unsigned> from, int place) {
  Sums16x8 sums;
  UNROLL for (int i = 0; i < 4; i++) sums.values[i] = from_bits(from[(place / WARP * 4 + i) * WARP + place % WARP]);
  return sums;
}

} // namespace gpu
} // namespace quern
