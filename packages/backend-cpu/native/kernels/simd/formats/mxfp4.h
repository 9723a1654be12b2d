#pragma once

namespace quern::QUERN_ISA {
namespace {

struct MXFP4 : Simple<TileMXFP4> {
  static constexpr int MAX = 31, OFFSET = 4;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    look_up_all(fp4_lookup, q);
  }
  template <int s, int b>
  Floats scale() const { return load_bf16(tile.d[b] + row); }
};

} // namespace
} // namespace quern::QUERN_ISA
