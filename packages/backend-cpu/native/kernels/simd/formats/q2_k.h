#pragma once

namespace quern::QUERN_ISA {
namespace {

struct Q2_K : Super<TileQ2_K, 16> {
  static constexpr int MAX = 3;
  static constexpr bool MINS = true;
  Q2_K(const void* at, int first) : Super(at, first), dmin(load(tile.dmin + row)) {}
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const { pairs(tile.span[s].q[b], row, q); }
  template <int s, int b>
  Floats scale() const { return nibble_floats<0>(tile.span[s].scales[b]) * d; }
  template <int s, int b>
  Floats minus_min() const { return nibble_floats<4>(tile.span[s].scales[b]) * dmin; }

  template <int shift>
  Floats nibble_floats(const uint8_t (&bytes)[PACKED_ROWS]) const {
    uint8_t nibbles[LANES];
    for (int i = 0; i < LANES; i++) nibbles[i] = uint8_t(bytes[row + i] >> shift & 15);
    return load_floats(nibbles);
  }

  const Floats dmin;
};

} // namespace
} // namespace quern::QUERN_ISA
