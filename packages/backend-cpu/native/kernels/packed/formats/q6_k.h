#pragma once
#include "../move.h"

namespace quern {

// 256 weights: four spans of 64, each with the scales of its blocks for 16 rows.
struct TileQ6_K {
  HalvesOfRows d, unused;
  struct {
    SignedBytesOfRows scales[4];
    struct {
      Line high;   // bits 2i and 2i + 1: upper two bits of quad i
      Line low[2]; // line i: quad i in low nibbles, quad i + 2 in high nibbles
    } block[4];
  } span[4];
};

namespace {

// Per 128 weights: low nibbles in 64 bytes (weights j and j + 64 share a byte), upper bit pairs in 32 bytes.
template <class M>
void move(const M& m, TileQ6_K& tile, int) {
  for (int q = 0; q < 64; q++) {
    auto& block = tile.span[q / 16].block[q / 4 % 4];
    m.quad(q / 32 * 64 + 4 * (q % 16), 4 * (q / 16 % 2), nibbles, block.low[q % 2], 4 * (q / 2 % 2));
    m.quad(128 + pair_at(q), pair_bit(q), pairs, block.high, 2 * (q % 4));
  }
  for (int g = 0; g < 16; g++) m.bits(192 + g, 0, 255, tile.span[g / 4].scales[g % 4][m.row], 0);
  m.half(208, tile.d);
}

} // namespace
} // namespace quern
