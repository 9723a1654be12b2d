#pragma once
#include "../move.h"

namespace quern {

// Two blocks of 32 weights.
struct TileQ5_0 {
  HalvesOfRows d[2];
  Line fifth[2]; // bit i of a byte: fifth bit of its weight in quad i
  Line q[2][4];
};

namespace {

template <class M>
void move(const M& m, TileQ5_0& tile, int i) {
  m.half(0, tile.d[i]);
  move_fifth_bits(m, 2, tile.fifth[i]);
  move_words(m, 6, tile.q[i]);
}

} // namespace
} // namespace quern
