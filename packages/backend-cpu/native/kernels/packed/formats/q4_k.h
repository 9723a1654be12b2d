#pragma once
#include "../move.h"

namespace quern {

// 256 weights: four spans of 64, each with the scales of its blocks for 16 rows.
struct TileQ4_K {
  HalvesOfRows d, dmin;
  struct {
    BytesOfRows scales[2], mins[2];
    Line q[2][4]; // as q4_0
  } span[4];
};

namespace {

template <class M>
void move(const M& m, TileQ4_K& tile, int) {
  m.half(0, tile.d);
  m.half(2, tile.dmin);
  move_scales_and_mins(m, 4, tile);
  for (int q = 0; q < 64; q++)
    m.quad(16 + nibble_at(q), nibble_bit(q), nibbles, tile.span[q / 16].q[q / 8 % 2][q % 4], 4 * (q / 4 % 2));
}

} // namespace
} // namespace quern
