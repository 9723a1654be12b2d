#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q4_0 : Simple<TileQ4_0> {
  static constexpr int MAX = 15, OFFSET = 3;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const { nibbles(tile.q[b], row, q); }
};

} // namespace
} // namespace quern::QUERN_ISA
