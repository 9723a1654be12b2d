// One AVX2 register of floats, in the vocabulary of simd/ (simd/README.md).
#pragma once
#define QUERN_ISA avx2
#define QUERN_INTEGER_KERNELS
#include "../../declare.h"
#include <immintrin.h>
#include <string.h>

namespace quern::QUERN_ISA {
namespace {

using Floats = __m256;
constexpr int LANES = 8, REGISTERS = 16;
constexpr int TILE_T = 3, TILE_N = 4; // gemm: 12 sums, 3 rows of x and one of w fill the 16 registers

inline __m256i first(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Floats set(float x) { return _mm256_set1_ps(x); }
inline Floats load(const float* p) { return _mm256_loadu_ps(p); }
inline Floats load(const float* p, int64_t n) { return _mm256_maskload_ps(p, first(n)); }
inline Floats load_or(Floats, const float* p) { return load(p); }
inline Floats load_or(Floats rest, const float* p, int64_t n) {
  return _mm256_blendv_ps(rest, load(p, n), _mm256_castsi256_ps(first(n)));
}
inline void store(float* p, Floats x) { _mm256_storeu_ps(p, x); }
inline void store(float* p, Floats x, int64_t n) { _mm256_maskstore_ps(p, first(n), x); }

// Eight 16-bit words; reads or writes the first n. AVX2 has no masks for words.
inline __m128i load_words(const uint16_t* p, int64_t n) {
  if (n == LANES) return _mm_loadu_si128((const __m128i*)p);
  alignas(16) uint16_t words[LANES] = {};
  memcpy(words, p, n * sizeof *p);
  return _mm_load_si128((const __m128i*)words);
}
inline void store_words(uint16_t* p, __m128i x, int64_t n) {
  if (n == LANES) return _mm_storeu_si128((__m128i*)p, x);
  alignas(16) uint16_t words[LANES];
  _mm_store_si128((__m128i*)words, x);
  memcpy(p, words, n * sizeof *p);
}

inline Floats load(const uint16_t* f16) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)f16)); }
inline Floats load(const uint16_t* f16, int64_t n) { return _mm256_cvtph_ps(load_words(f16, n)); }
inline void store(uint16_t* f16, Floats x, int64_t n = LANES) {
  store_words(f16, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT), n);
}

inline Floats load(const int8_t* p, int64_t n = LANES) {
  int64_t bytes = 0;
  memcpy(&bytes, p, n);
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(bytes)));
}

inline Floats load_bf16(const uint16_t* p, int64_t n = LANES) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_words(p, n)), 16));
}
inline void store_bf16(uint16_t* p, Floats x, int64_t n = LANES) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), even);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i result = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  store_words(p, _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1)), n);
}

inline Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
inline Floats abs(Floats x) { return _mm256_andnot_ps(set(-0.0f), x); }
inline Floats round(Floats x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Floats power_of_2(__m256i n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
inline Floats fraction(Floats x) { return x - round(x); }
inline Floats times_power_of_2(Floats x, Floats n) { // two steps: 2^n alone may be out of range
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  return x * power_of_2(half) * power_of_2(_mm256_sub_epi32(whole, half));
}
inline uint32_t equal_bits(Floats a, Floats b) { return uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ))); }

inline Floats load_twice(const float* p, int64_t n = LANES / 2) { // p[0] p[0] p[1] p[1] …, n values
  return _mm256_permutevar8x32_ps(load(p, n), _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}
inline Floats swap_pairs(Floats x) { return _mm256_permute_ps(x, 0xb1); }
inline Floats fma_sub_add(Floats a, Floats b, Floats c) { return _mm256_fmaddsub_ps(a, b, c); }

// Adds the 128-bit halves. sum() and store_sums() add the remaining four sums.
inline __m128 quarter_sums(Floats x) { return _mm256_castps256_ps128(x) + _mm256_extractf128_ps(x, 1); }

inline float largest(Floats x) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline void transpose(Floats (&x)[LANES]) {
  __m256 t[LANES]; // t[4g + k], half l: elements 4l + k of x[4g … 4g + 3]
#pragma GCC unroll 2
  for (int i = 0; i < LANES; i += 4) {
    const __m256d ab = (__m256d)_mm256_unpacklo_ps(x[i], x[i + 1]), AB = (__m256d)_mm256_unpackhi_ps(x[i], x[i + 1]);
    const __m256d cd = (__m256d)_mm256_unpacklo_ps(x[i + 2], x[i + 3]), CD = (__m256d)_mm256_unpackhi_ps(x[i + 2], x[i + 3]);
    t[i] = (__m256)_mm256_unpacklo_pd(ab, cd);
    t[i + 1] = (__m256)_mm256_unpackhi_pd(ab, cd);
    t[i + 2] = (__m256)_mm256_unpacklo_pd(AB, CD);
    t[i + 3] = (__m256)_mm256_unpackhi_pd(AB, CD);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; k++) {
    x[k] = _mm256_permute2f128_ps(t[k], t[4 + k], 0x20);
    x[4 + k] = _mm256_permute2f128_ps(t[k], t[4 + k], 0x31);
  }
}

struct Doubles {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
};
inline void add_to(Doubles& sum, Floats x) {
  sum.low += _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  sum.high += _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
inline void add_squares_to(Doubles& sum, Floats x) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  sum.low = _mm256_fmadd_pd(low, low, sum.low);
  sum.high = _mm256_fmadd_pd(high, high, sum.high);
}
inline double sum(const Doubles& x) {
  const __m256d four = x.low + x.high;
  const __m128d two = _mm256_castpd256_pd128(four) + _mm256_extractf128_pd(four, 1);
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

} // namespace
} // namespace quern::QUERN_ISA

#include "../sums.h"
#include "../../simd/each.h"
#include "../../simd/math.h"
