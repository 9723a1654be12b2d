#pragma once
#include "../move.h"

namespace quern {

// 256 weights: four spans of 64, each with the scales of its blocks for 16 rows.
struct TileIQ8 {
  float d[PACKED_ROWS];
  struct {
    SignedBytesOfRows scales[4];
    Line q[4][4];
  } span[4];
};

namespace {

template <class M>
void move(const M& m, TileIQ8& tile, int) {
  m.quad(0, 0, all_bits, reinterpret_cast<Line&>(tile.d), 0);
  for (int g = 0; g < 16; g++) m.bits(4 + g, 0, 255, tile.span[g / 4].scales[g % 4][m.row], 0);
  for (int q = 0; q < 64; q++) m.quad(20 + 4 * q, 0, all_bits, tile.span[q / 16].q[q / 4 % 4][q % 4], 0);
}

} // namespace
} // namespace quern
