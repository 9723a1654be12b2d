#pragma once

namespace quern::QUERN_ISA {
namespace {

struct IQ8 : Super<TileIQ8, 16> {
  static constexpr int MAX = 0;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const {
    repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = rows_of(tile.span[s].q[b][i.value], row); });
  }
};

} // namespace
} // namespace quern::QUERN_ISA
