// Dot products of bytes without VNNI: pairs to 16 bits, added to 32 bits before they can overflow.
#pragma once
#include "../../simd/inline.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int PACKED_T = 4; // most rows of x per step of few_rows; more: many-rows.h

inline Bytes broadcast_quad(const int8_t* x) {
  int32_t quad;
  __builtin_memcpy(&quad, x, sizeof quad);
  return _mm256_set1_epi32(quad);
}
inline Ints widen(Bytes pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

// Sums stay in the order of the program. Otherwise g++ adds in a tree, whose leaves do not fit into the registers.
QUERN_INLINE void keep_order(Bytes& sum) { asm("" : "+x"(sum)); }

template <int COUNT, int MAX>
inline Ints dots(Ints start, const Bytes (&q)[COUNT], const int8_t* x) {
  constexpr int together = 32767 / (2 * MAX * 127); // pair products per 16-bit sum
  static_assert(together >= 1);
  Bytes pairs;
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) {
    const Bytes more = _mm256_maddubs_epi16(q[i], broadcast_quad(x + 4 * i));
    pairs = i % together == 0 ? more : _mm256_add_epi16(pairs, more);
    if constexpr (together >= 8) keep_order(pairs); // shorter sums: 14 % slower with four rows of Q6_K
    if ((i + 1) % together == 0 || i + 1 == COUNT) start = _mm256_add_epi32(start, widen(pairs));
  }
  return start;
}

template <int COUNT>
inline Ints signed_dots(const Bytes (&q)[COUNT], const int8_t* x, const int32_t*) {
  Ints sum = no_ints();
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) {
    const Bytes quad = broadcast_quad(x + 4 * i);
    const Bytes turned = _mm256_sign_epi8(quad, q[i]);
    sum = _mm256_add_epi32(sum, widen(_mm256_maddubs_epi16(_mm256_abs_epi8(q[i]), turned)));
  }
  return sum;
}

} // namespace
} // namespace quern::QUERN_ISA
