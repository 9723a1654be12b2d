#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q6_K : Super<TileQ6_K, 16> {
  static constexpr int MAX = 63, OFFSET = 5;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const {
    const auto& block = tile.span[s].block[b];
    nibbles(block.low, row, q);
    const Bytes high = rows_of(block.high, row);
    repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = with_bits<2 * i.value, 4, 3>(q[i.value], high); });
  }
};

} // namespace
} // namespace quern::QUERN_ISA
