// Dot products of bytes with plain NEON: 16-bit products, added to 32 bits before they can overflow.
#pragma once

namespace quern::QUERN_ISA {
namespace {

inline int8x16_t broadcast_quad(const int8_t* x) {
  int32_t quad;
  memcpy(&quad, x, sizeof quad);
  return vreinterpretq_s8_s32(vdupq_n_s32(quad));
}

// Dot products of COUNT quads of four rows of w with 4 · COUNT values of one row of x. |q| ≤ LARGEST.
template <int LARGEST, int COUNT>
inline Ints row_dots(const Bytes (&quads)[COUNT], const int8_t* x) {
  constexpr int together = 32767 / (LARGEST * 127); // products per 16-bit sum
  static_assert(together >= 2);
  Ints low = no_ints(), high = no_ints(); // rows 0 0 1 1 and 2 2 3 3
  int16x8_t lows, highs;
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) {
    const int8x16_t q = vreinterpretq_s8_u8(quads[i]), quad = broadcast_quad(x + 4 * i);
    if (i % together == 0) {
      lows = vmull_s8(vget_low_s8(q), vget_low_s8(quad));
      highs = vmull_high_s8(q, quad);
    } else {
      lows = vmlal_s8(lows, vget_low_s8(q), vget_low_s8(quad));
      highs = vmlal_high_s8(highs, q, quad);
    }
    if ((i + 1) % together == 0 || i + 1 == COUNT) {
      low = vpadalq_s16(low, lows);
      high = vpadalq_s16(high, highs);
    }
  }
  return vpaddq_s32(low, high);
}

} // namespace
} // namespace quern::QUERN_ISA
