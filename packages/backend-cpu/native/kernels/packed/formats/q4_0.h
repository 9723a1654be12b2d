#pragma once
#include "../move.h"

namespace quern {

// Two blocks of 32 weights.
struct TileQ4_0 {
  HalvesOfRows d[2];
  Line q[2][4]; // line i: quad i in low nibbles, quad i + 4 in high nibbles
};

namespace {

// The fields of block `i` of a tile, with their offsets in the file's block.
template <class M>
void move(const M& m, TileQ4_0& tile, int i) {
  m.half(0, tile.d[i]);
  move_words(m, 2, tile.q[i]);
}

} // namespace
} // namespace quern
