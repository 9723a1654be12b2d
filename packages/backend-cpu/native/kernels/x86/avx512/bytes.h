// One AVX-512 register of bytes or 32-bit integers, in the vocabulary of simd/few-rows.h and simd/quantise.h.
#pragma once

namespace quern::QUERN_ISA {
namespace {

using Bytes = __m512i;
using Ints = __m512i; // [LANES]

inline Bytes load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
inline Bytes every_byte(int x) { return _mm512_set1_epi8(char(x)); }
template <int mask>
inline Bytes low_bits(Bytes x) { return _mm512_and_si512(x, every_byte(mask)); }
template <int n>
inline Bytes shift_right(Bytes x) { return n ? _mm512_srli_epi16(x, n) : x; } // 16-bit shift: bits cross into the neighbouring byte
template <int n>
inline Bytes shift_left(Bytes x) { return n ? _mm512_slli_epi16(x, n) : x; }
// a | (b & mask)
template <int mask>
inline Bytes merge(Bytes a, Bytes b) { return _mm512_ternarylogic_epi32(a, b, every_byte(mask), 0xf8); } // a | (b & mask)

// table[x], x < 16.
inline Bytes look_up(const uint8_t (&table)[16], Bytes x) {
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)table)), x);
}

inline Bytes broadcast_quad(const int8_t* x) {
  int32_t quad;
  __builtin_memcpy(&quad, x, sizeof quad);
  return _mm512_set1_epi32(quad);
}
inline Ints broadcast(const int32_t* p) { return _mm512_set1_epi32(*p); }
template <int n>
inline Ints times_power_of_2(Ints x) { return _mm512_slli_epi32(x, n); }
inline Ints no_ints() { return _mm512_setzero_si512(); }
inline Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
inline Floats load_floats(const uint8_t* p) { return to_floats(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p))); }
inline Floats load_floats(const int8_t* p) { return to_floats(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p))); }

inline Ints largest_bits(Ints a, Ints b) { return _mm512_max_epu32(a, b); }
inline Ints magnitude_bits(Floats x) { return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)); }
inline Floats floats_of_bits(Ints x) { return _mm512_castsi512_ps(x); }
inline uint32_t largest(Ints x) { return _mm512_reduce_max_epu32(x); }
// Rounds to integers, ties to even, saturated to ±127.
inline void store_int8(int8_t* p, Floats x) { _mm_storeu_si128((__m128i*)p, _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x))); }

} // namespace
} // namespace quern::QUERN_ISA

#include "../byte-sums.h"
