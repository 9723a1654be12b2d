// One AVX2 register of bytes or 32-bit integers, in the vocabulary of simd/few-rows.h and simd/quantise.h.
#pragma once

namespace quern::QUERN_ISA {
namespace {

using Bytes = __m256i;
using Ints = __m256i; // [LANES]

inline Bytes load_bytes(const uint8_t* p) { return _mm256_loadu_si256((const __m256i*)p); }
inline Bytes every_byte(int x) { return _mm256_set1_epi8(char(x)); }
template <int mask>
inline Bytes low_bits(Bytes x) { return _mm256_and_si256(x, every_byte(mask)); }
template <int n>
inline Bytes shift_right(Bytes x) { return n ? _mm256_srli_epi16(x, n) : x; } // 16-bit shift: bits cross into the neighbouring byte
template <int n>
inline Bytes shift_left(Bytes x) { return n ? _mm256_slli_epi16(x, n) : x; }
// a | (b & mask)
template <int mask>
inline Bytes merge(Bytes a, Bytes b) { return _mm256_or_si256(a, low_bits<mask>(b)); }

// table[x], x < 16.
inline Bytes look_up(const uint8_t (&table)[16], Bytes x) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table)), x);
}

inline Ints broadcast(const int32_t* p) { return _mm256_set1_epi32(*p); }
template <int n>
inline Ints times_power_of_2(Ints x) { return _mm256_slli_epi32(x, n); }
inline Ints no_ints() { return _mm256_setzero_si256(); }
inline Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
inline Floats load_floats(const uint8_t* p) { return to_floats(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p))); }
inline Floats load_floats(const int8_t* p) { return to_floats(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p))); }

inline Ints largest_bits(Ints a, Ints b) { return _mm256_max_epu32(a, b); }
inline Ints magnitude_bits(Floats x) { return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff)); }
inline Floats floats_of_bits(Ints x) { return _mm256_castsi256_ps(x); }
inline uint32_t largest(Ints x) {
  const __m128i four = _mm_max_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  const __m128i two = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
  return uint32_t(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_shuffle_epi32(two, 1))));
}
// Rounds to integers, ties to even, saturated to ±127.
inline void store_int8(int8_t* p, Floats x) {
  const Ints ints = _mm256_cvtps_epi32(x);
  const __m128i low = _mm256_castsi256_si128(ints), high = _mm256_extracti128_si256(ints, 1);
  const __m128i words = _mm_packs_epi32(low, high);
  _mm_storel_epi64((__m128i*)p, _mm_packs_epi16(words, words));
}

} // namespace
} // namespace quern::QUERN_ISA

#include "../byte-sums.h"
