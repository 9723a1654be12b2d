#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q3_K : Super<TileQ3_K, 16> {
  static constexpr int MAX = 7, OFFSET = 2;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const {
    pairs(tile.span[s].q[b], row, q);
    const Bytes third = rows_of(tile.span[s].third[b / 2], row);
    repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = with_bits<b % 2 * 4 + i.value, 2, 1>(q[i.value], third); });
  }
};

} // namespace
} // namespace quern::QUERN_ISA
