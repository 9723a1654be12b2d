#pragma once
#include "../move.h"

namespace quern {

// Two blocks of 32 weights.
struct TileQ8_0 {
  HalvesOfRows d[2];
  Line q[2][8];
};

namespace {

template <class M>
void move(const M& m, TileQ8_0& tile, int i) {
  m.half(0, tile.d[i]);
  for (int q = 0; q < 8; q++) m.quad(2 + 4 * q, 0, all_bits, tile.q[i][q], 0);
}

} // namespace
} // namespace quern
