#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q8_0 : Simple<TileQ8_0> {
  static constexpr int MAX = 0;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    repeat<8>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = rows_of(tile.q[b][i.value], row); });
  }
};

} // namespace
} // namespace quern::QUERN_ISA
