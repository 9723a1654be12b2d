#pragma once
#include "../move.h"

namespace quern {

// 256 weights: four spans of 64, each with the scales of its blocks for 16 rows.
struct TileQ5_K {
  HalvesOfRows d, dmin;
  struct {
    BytesOfRows scales[2], mins[2];
    struct {
      Line fifth; // as q5_0
      Line q[4];
    } block[2];
  } span[4];
};

namespace {

template <class M>
void move(const M& m, TileQ5_K& tile, int) {
  m.half(0, tile.d);
  m.half(2, tile.dmin);
  move_scales_and_mins(m, 4, tile);
  for (int q = 0; q < 64; q++) {
    auto& block = tile.span[q / 16].block[q / 8 % 2];
    m.quad(16 + 4 * (q % 8), q / 8, single_bits, block.fifth, q % 8);
    m.quad(48 + nibble_at(q), nibble_bit(q), nibbles, block.q[q % 4], 4 * (q / 4 % 2));
  }
}

} // namespace
} // namespace quern
