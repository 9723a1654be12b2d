// Dot products of bytes with SDOT: four products per 32-bit lane.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// Dot products of COUNT quads of four rows of w with 4 · COUNT values of one row of x.
template <int LARGEST, int COUNT>
inline Ints row_dots(const Bytes (&quads)[COUNT], const int8_t* x) {
  const auto signed_quad = [&](int i) { return vreinterpretq_s8_u8(quads[i]); };
  Ints sum = no_ints();
#pragma GCC unroll 2
  for (int i = 0; i < COUNT; i += 4) {
    const int8x16_t four = vld1q_s8(x + 4 * i);
    sum = vdotq_laneq_s32(sum, signed_quad(i), four, 0);
    sum = vdotq_laneq_s32(sum, signed_quad(i + 1), four, 1);
    sum = vdotq_laneq_s32(sum, signed_quad(i + 2), four, 2);
    sum = vdotq_laneq_s32(sum, signed_quad(i + 3), four, 3);
  }
  return sum;
}

} // namespace
} // namespace quern::QUERN_ISA
