#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q5_1 : Simple<TileQ5_1> {
  static constexpr int MAX = 31;
  static constexpr bool MINS = true;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    add_fifth_bits(rows_of(tile.fifth[b], row), q);
  }
  template <int s, int b>
  Floats minus_min() const { return set(0) - load(tile.m[b] + row); }
};

} // namespace
} // namespace quern::QUERN_ISA
