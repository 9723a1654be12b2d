#pragma once
#include "../move.h"

namespace quern {

// 256 weights: four spans of 64, each with the scales of its blocks for 16 rows.
struct TileIQ4_XS {
  HalvesOfRows d, unused;
  struct {
    SignedBytesOfRows scales[2];
    Line q[2][4]; // as iq4_nl
  } span[4];
};

namespace {

// 8 scales of 6 bits, stored with 32 added: upper bit pairs in 2 bytes, low nibbles in 4.
template <class M>
void move(const M& m, TileIQ4_XS& tile, int) {
  m.half(0, tile.d);
  for (int g = 0; g < 8; g++) {
    auto& span = tile.span[g / 2];
    int8_t& scale = span.scales[g % 2][m.row];
    uint8_t bits = uint8_t(scale + 32);
    if constexpr (packs<M>) bits = 0;
    m.bits(4 + g / 2, 4 * (g % 2), 15, bits, 0);
    m.bits(2 + g / 4, 2 * (g % 4), 3, bits, 4);
    if constexpr (packs<M>) scale = int8_t(bits - 32);
    move_words(m, 8 + 16 * g, span.q[g % 2]);
  }
}

} // namespace
} // namespace quern
