// Blocks of a file to tiles and back: what the descriptions of formats/ are written with.
#pragma once
#include "tile.h"

namespace quern {
namespace {

// Moves the fields of a block to the lane of its row in a tile, or back. The two directions share the description of a
// format, `move`, which names each field once. What is written to has been zeroed.
struct Packer {
  const uint8_t* block;
  int row;

  // The bits of `mask` at bit `from` of every byte of a word of the block, to bit `to` of the lane.
  void quad(int at, int from, uint32_t mask, Line& line, int to) const { copy(block + at, from, mask, line + 4 * row, to); }
  void half(int at, HalvesOfRows& values) const { __builtin_memcpy(&values[row], block + at, 2); }
  template <class Byte>
  void bits(int at, int from, int mask, Byte& value, int to) const {
    value = Byte(value | (block[at] >> from & mask) << to);
  }

  static void copy(const uint8_t* source, int from, uint32_t mask, uint8_t* target, int to) {
    uint32_t word, result;
    __builtin_memcpy(&word, source, sizeof word);
    __builtin_memcpy(&result, target, sizeof result);
    result |= (word >> from & mask) << to;
    __builtin_memcpy(target, &result, sizeof result);
  }
};

struct Unpacker {
  uint8_t* block;
  int row;

  void quad(int at, int from, uint32_t mask, const Line& line, int to) const {
    Packer::copy(line + 4 * row, to, mask, block + at, from);
  }
  void half(int at, const HalvesOfRows& values) const { __builtin_memcpy(block + at, &values[row], 2); }
  template <class Byte>
  void bits(int at, int from, int mask, const Byte& value, int to) const {
    block[at] = uint8_t(block[at] | (uint8_t(value) >> to & mask) << from);
  }
};

template <class M>
constexpr bool packs = false;
template <>
constexpr bool packs<Packer> = true;

constexpr uint32_t all_bits = 0xffffffff, nibbles = 0x0f0f0f0f, pairs = 0x03030303, single_bits = 0x01010101;

// Words of nibbles that lie in the file as they do in a tile.
template <class M>
void move_words(const M& m, int at, Line (&lines)[4]) {
  for (int i = 0; i < 4; i++) m.quad(at + 4 * i, 0, all_bits, lines[i], 0);
}

// Bit e of the 32 belongs to element e: byte e % 4 of quad e / 4.
template <class M>
void move_fifth_bits(const M& m, int at, Line& line) {
  uint8_t* const lane = line + 4 * m.row;
  for (int e = 0; e < 32; e++) m.bits(at + e / 8, e % 8, 1, lane[e % 4], e / 4);
}

// 8 scales and 8 minimums of 6 bits in 12 bytes (ggml's get_scale_min_k4), two of each to a span.
template <class M, class Tile>
void move_scales_and_mins(const M& m, int at, Tile& tile) {
  for (int g = 0; g < 4; g++) {
    auto &low = tile.span[g / 2], &high = tile.span[2 + g / 2];
    m.bits(at + g, 0, 63, low.scales[g % 2][m.row], 0);
    m.bits(at + 4 + g, 0, 63, low.mins[g % 2][m.row], 0);
    m.bits(at + 8 + g, 0, 15, high.scales[g % 2][m.row], 0);
    m.bits(at + g, 6, 3, high.scales[g % 2][m.row], 4);
    m.bits(at + 8 + g, 4, 15, high.mins[g % 2][m.row], 0);
    m.bits(at + 4 + g, 6, 3, high.mins[g % 2][m.row], 4);
  }
}

// 16 scales of 6 bits in 12 bytes, 32 above their value: low nibbles of 0–7 and 8–15, then the high pairs.
template <class M, class Tile>
void move_signed_scales(const M& m, int at, Tile& tile) {
  for (int g = 0; g < 16; g++) {
    int8_t& scale = tile.span[g / 4].scales[g % 4][m.row];
    uint8_t bits = uint8_t(scale + 32);
    if constexpr (packs<M>) bits = 0;
    m.bits(at + g % 8, g < 8 ? 0 : 4, 15, bits, 0);
    m.bits(at + 8 + g % 4, 2 * (g / 4), 3, bits, 4);
    if constexpr (packs<M>) scale = int8_t(bits - 32);
  }
}

// Quad q of the 64 in a block of 256: of pairs of bits, 128 weights lie in 32 bytes, those 32 apart in one byte.
constexpr int pair_at(int q) { return q / 32 * 32 + 4 * (q % 8); }
constexpr int pair_bit(int q) { return 2 * (q / 8 % 4); }

// Of nibbles, 64 weights lie in 32 bytes, those 32 apart in one byte.
constexpr int nibble_at(int q) { return q / 16 * 32 + 4 * (q % 8); }
constexpr int nibble_bit(int q) { return 4 * (q / 8 % 2); }

} // namespace
} // namespace quern
