// Blocks of a file ↔ tiles: vocabulary for the descriptions in formats/.
#pragma once
#include "tile.h"

namespace quern {
namespace {

// Moves the fields of a block to its row's lane in a tile. The two directions share one description of a format, `move`: it
// names each field once. The target must be zeroed.
struct Packer {
  const uint8_t* block;
  int row;

  // Bits `mask` at bit `from` of each byte of a block's word ↔ bit `to` of the lane.
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

// Words of nibbles with equal order in file and tile.
template <class M>
void move_words(const M& m, int at, Line (&lines)[4]) {
  for (int i = 0; i < 4; i++) m.quad(at + 4 * i, 0, all_bits, lines[i], 0);
}

// Bit e of 32 belongs to element e: byte e % 4 of quad e / 4.
template <class M>
void move_fifth_bits(const M& m, int at, Line& line) {
  uint8_t* const lane = line + 4 * m.row;
  for (int e = 0; e < 32; e++) m.bits(at + e / 8, e % 8, 1, lane[e % 4], e / 4);
}

// 8 scales and 8 minimums of 6 bits in 12 bytes (ggml's get_scale_min_k4); two of each per span.
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

// 16 scales of 6 bits in 12 bytes, stored with 32 added: low nibbles of 0–7 and 8–15, then the high bit pairs.
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

// Quad q of 64 in a 256-weight block, 2 bits per weight: 128 weights in 32 bytes; the weights j + 32i share a byte.
constexpr int pair_at(int q) { return q / 32 * 32 + 4 * (q % 8); }
constexpr int pair_bit(int q) { return 2 * (q / 8 % 4); }

// 4 bits per weight: 64 weights in 32 bytes; weights j and j + 32 share a byte.
constexpr int nibble_at(int q) { return q / 16 * 32 + 4 * (q % 8); }
constexpr int nibble_bit(int q) { return 4 * (q / 8 % 2); }

} // namespace
} // namespace quern
