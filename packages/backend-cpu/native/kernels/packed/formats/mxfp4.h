#pragma once
#include "../move.h"

namespace quern {

// Two blocks of 32 weights.
struct TileMXFP4 {
  HalvesOfRows d[2]; // bf16: has every power of two
  Line q[2][4];      // as q4_0, indices of fp4_values
};

namespace {

// E8M0 exponent e → 2^(e − 128) (half of its power of two) as bf16; subnormal for e < 2.
constexpr uint16_t half_power(uint8_t e) { return uint16_t(e < 2 ? 0x20 << e : (e - 1) << 7); }
constexpr uint8_t exponent_of(uint16_t half_power) { return uint8_t(half_power < 0x80 ? half_power >> 6 : (half_power >> 7) + 1); }

template <class M>
void move(const M& m, TileMXFP4& tile, int i) {
  uint16_t& d = tile.d[i][m.row];
  uint8_t exponent = exponent_of(d);
  if constexpr (packs<M>) exponent = 0;
  m.bits(0, 0, 255, exponent, 0);
  if constexpr (packs<M>) d = half_power(exponent);
  move_words(m, 1, tile.q[i]);
}

} // namespace
} // namespace quern
