#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q4_K : SuperWithMins<TileQ4_K> {
  static constexpr int MAX = 15;
  using SuperWithMins::SuperWithMins;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const { nibbles(tile.span[s].q[b], row, q); }
};

} // namespace
} // namespace quern::QUERN_ISA
