// Dot products of bytes without VNNI: pairs to 16 bits, added to 32 bits before they can overflow.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr int PACKED_T = 8; // most rows of x per step of few_rows

inline Ints widen(Bytes pairs) { return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)); }

template <int COUNT, int MAX>
inline Ints dots(Ints start, const Bytes (&q)[COUNT], const int8_t* x) {
  constexpr int together = 32767 / (2 * MAX * 127); // pair products per 16-bit sum
  static_assert(together >= 1);
  Bytes pairs;
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) {
    const Bytes more = _mm512_maddubs_epi16(q[i], broadcast_quad(x + 4 * i));
    pairs = i % together == 0 ? more : _mm512_add_epi16(pairs, more);
    if ((i + 1) % together == 0 || i + 1 == COUNT) start = _mm512_add_epi32(start, widen(pairs));
  }
  return start;
}

template <int COUNT>
inline Ints signed_dots(const Bytes (&q)[COUNT], const int8_t* x, const int32_t*) {
  Ints sum = no_ints();
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) {
    const Bytes quad = broadcast_quad(x + 4 * i);
    const __mmask64 negative = _mm512_movepi8_mask(q[i]);
    const Bytes turned = _mm512_mask_sub_epi8(quad, negative, no_ints(), quad);
    sum = _mm512_add_epi32(sum, widen(_mm512_maddubs_epi16(_mm512_abs_epi8(q[i]), turned)));
  }
  return sum;
}

} // namespace
} // namespace quern::QUERN_ISA
