#pragma once
#include "../move.h"

namespace quern {

// 256 weights: four spans of 64, each with the scales of its blocks for 16 rows.
struct TileQ2_K {
  HalvesOfRows d, dmin;
  struct {
    BytesOfRows scales[4]; // scale low nibble, minimum high nibble
    Line q[4];             // bits 2i and 2i + 1: quad i of the block
  } span[4];
};

namespace {

template <class M>
void move(const M& m, TileQ2_K& tile, int) {
  for (int g = 0; g < 16; g++) m.bits(g, 0, 255, tile.span[g / 4].scales[g % 4][m.row], 0);
  for (int q = 0; q < 64; q++) m.quad(16 + pair_at(q), pair_bit(q), pairs, tile.span[q / 16].q[q / 4 % 4], 2 * (q % 4));
  m.half(80, tile.d);
  m.half(82, tile.dmin);
}

} // namespace
} // namespace quern
