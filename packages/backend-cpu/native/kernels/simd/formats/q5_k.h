#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q5_K : SuperWithMins<TileQ5_K> {
  static constexpr int MAX = 31;
  using SuperWithMins::SuperWithMins;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    const auto& block = tile.span[s].block[b];
    nibbles(block.q, row, q);
    add_fifth_bits(rows_of(block.fifth, row), q);
  }
};

} // namespace
} // namespace quern::QUERN_ISA
