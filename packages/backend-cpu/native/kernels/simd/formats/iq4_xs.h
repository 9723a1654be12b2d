#pragma once

namespace quern::QUERN_ISA {
namespace {

struct IQ4_XS : Super<TileIQ4_XS, 32> {
  static constexpr int MAX = 0;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.span[s].q[b], row, q);
    look_up_all(iq4_lookup, q);
  }
};

} // namespace
} // namespace quern::QUERN_ISA
