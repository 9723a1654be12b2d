#pragma once
#include "../move.h"

namespace quern {

// Two blocks of 32 weights.
struct TileQ3_K {
  HalvesOfRows d, unused;
  struct {
    SignedBytesOfRows scales[4];
    Line third[2]; // per two blocks: bit i is the third bit of quad i of 8
    Line q[4];     // as q2_k
  } span[4];
};

namespace {

template <class M>
void move(const M& m, TileQ3_K& tile, int) {
  for (int q = 0; q < 64; q++) {
    auto& span = tile.span[q / 16];
    m.quad(4 * (q % 8), q / 8, single_bits, span.third[q / 8 % 2], q % 8);
    m.quad(32 + pair_at(q), pair_bit(q), pairs, span.q[q / 4 % 4], 2 * (q % 4));
  }
  move_signed_scales(m, 96, tile);
  m.half(108, tile.d);
}

} // namespace
} // namespace quern
