#pragma once

namespace quern::QUERN_ISA {
namespace {

struct IQ4_NL : Simple<TileIQ4_NL> {
  static constexpr int MAX = 0;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    look_up_all(iq4_lookup, q);
  }
};

} // namespace
} // namespace quern::QUERN_ISA
