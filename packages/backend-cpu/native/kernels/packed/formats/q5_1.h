#pragma once
#include "../move.h"

namespace quern {

// Two blocks of 32 weights.
struct TileQ5_1 {
  HalvesOfRows d[2], m[2];
  Line fifth[2];
  Line q[2][4];
};

namespace {

template <class M>
void move(const M& m, TileQ5_1& tile, int i) {
  m.half(0, tile.d[i]);
  m.half(2, tile.m[i]);
  move_fifth_bits(m, 4, tile.fifth[i]);
  move_words(m, 8, tile.q[i]);
}

} // namespace
} // namespace quern
