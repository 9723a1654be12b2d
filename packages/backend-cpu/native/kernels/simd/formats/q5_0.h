#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q5_0 : Simple<TileQ5_0> {
  static constexpr int MAX = 31, OFFSET = 4;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    add_fifth_bits(rows_of(tile.fifth[b], row), q);
  }
};

} // namespace
} // namespace quern::QUERN_ISA
