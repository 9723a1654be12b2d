#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q4_1 : Simple<TileQ4_1> {
  static constexpr int MAX = 15;
  static constexpr bool MINS = true;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const { nibbles(tile.q[b], row, q); }
  template <int s, int b>
  Floats minus_min() const { return set(0) - load(tile.m[b] + row); }
};

} // namespace
} // namespace quern::QUERN_ISA
