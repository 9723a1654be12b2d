// One AVX-512 register of floats, in the vocabulary of simd/ (simd/README.md).
#pragma once
#ifndef QUERN_ISA
#define QUERN_ISA avx512
#endif
#define QUERN_INTEGER_KERNELS
#include "../../declare.h"
#include <immintrin.h>
#if defined(QUERN_EMULATE_AVX512)
#include "../emulated-avx512.h"
#endif

namespace quern::QUERN_ISA {
namespace {

using Floats = __m512;
constexpr int LANES = 16, REGISTERS = 32;
constexpr int TILE_T = 6, TILE_N = 4; // gemm: 24 sums, 6 rows of x and one of w in 32 registers

inline __mmask16 first(int64_t n) { return __mmask16((1u << n) - 1); }

inline Floats set(float x) { return _mm512_set1_ps(x); }
inline Floats load(const float* p) { return _mm512_loadu_ps(p); }
inline Floats load(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
inline Floats load_or(Floats, const float* p) { return load(p); }
inline Floats load_or(Floats rest, const float* p, int64_t n) { return _mm512_mask_loadu_ps(rest, first(n), p); }
inline void store(float* p, Floats x) { _mm512_storeu_ps(p, x); }
inline void store(float* p, Floats x, int64_t n) { _mm512_mask_storeu_ps(p, first(n), x); }

inline Floats load(const uint16_t* f16) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)f16)); }
inline Floats load(const uint16_t* f16, int64_t n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), f16)); }
inline void store(uint16_t* f16, Floats x, int64_t n = LANES) {
  _mm256_mask_storeu_epi16(f16, first(n), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

inline Floats load(const int8_t* p) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p))); }
inline Floats load(const int8_t* p, int64_t n) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(first(n), p)));
}

inline Floats load_bf16(const uint16_t* p, int64_t n = LANES) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first(n), p)), 16));
}
inline void store_bf16(uint16_t* p, Floats x, int64_t n = LANES) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), even);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __m512i result = _mm512_mask_blend_epi32(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), rounded, quiet);
  _mm256_mask_storeu_epi16(p, first(n), _mm512_cvtepi32_epi16(_mm512_srli_epi32(result, 16)));
}

inline Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
inline Floats abs(Floats x) { return _mm512_abs_ps(x); }
inline Floats round(Floats x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Floats fraction(Floats x) { return _mm512_reduce_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Floats times_power_of_2(Floats x, Floats n) { return _mm512_scalef_ps(x, n); }
inline uint32_t equal_bits(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }

inline Floats load_twice(const float* p, int64_t n = LANES / 2) { // p[0] p[0] p[1] p[1] …, n values
  const __m512i pairs = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return _mm512_permutexvar_ps(pairs, load(p, n));
}
inline Floats swap_pairs(Floats x) { return _mm512_permute_ps(x, 0xb1); }
inline Floats fma_sub_add(Floats a, Floats b, Floats c) { return _mm512_fmaddsub_ps(a, b, c); }

// Adds the 256-bit, then the 128-bit halves. sum() and store_sums() add the remaining four sums.
inline __m128 quarter_sums(Floats x) {
  const __m256 half = _mm512_castps512_ps256(x) + _mm512_extractf32x8_ps(x, 1);
  return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
}

inline float largest(Floats x) { return _mm512_reduce_max_ps(x); }

inline void transpose(Floats (&x)[LANES]) {
  __m512 t[LANES]; // t[4g + k], quarter l: elements 4l + k of x[4g … 4g + 3]
#pragma GCC unroll 4
  for (int i = 0; i < LANES; i += 4) {
    const __m512d ab = (__m512d)_mm512_unpacklo_ps(x[i], x[i + 1]), AB = (__m512d)_mm512_unpackhi_ps(x[i], x[i + 1]);
    const __m512d cd = (__m512d)_mm512_unpacklo_ps(x[i + 2], x[i + 3]), CD = (__m512d)_mm512_unpackhi_ps(x[i + 2], x[i + 3]);
    t[i] = (__m512)_mm512_unpacklo_pd(ab, cd);
    t[i + 1] = (__m512)_mm512_unpackhi_pd(ab, cd);
    t[i + 2] = (__m512)_mm512_unpacklo_pd(AB, CD);
    t[i + 3] = (__m512)_mm512_unpackhi_pd(AB, CD);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; k++) {
    const __m512 even_low = _mm512_shuffle_f32x4(t[k], t[4 + k], 0x88), odd_low = _mm512_shuffle_f32x4(t[k], t[4 + k], 0xdd);
    const __m512 even_high = _mm512_shuffle_f32x4(t[8 + k], t[12 + k], 0x88);
    const __m512 odd_high = _mm512_shuffle_f32x4(t[8 + k], t[12 + k], 0xdd);
    x[k] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
    x[4 + k] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    x[8 + k] = _mm512_shuffle_f32x4(even_low, even_high, 0xdd);
    x[12 + k] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xdd);
  }
}

struct Doubles {
  __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();
};
inline void add_to(Doubles& sum, Floats x) {
  sum.low += _mm512_cvtps_pd(_mm512_castps512_ps256(x));
  sum.high += _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
inline void add_squares_to(Doubles& sum, Floats x) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
  sum.low = _mm512_fmadd_pd(low, low, sum.low);
  sum.high = _mm512_fmadd_pd(high, high, sum.high);
}
inline double sum(const Doubles& x) { return _mm512_reduce_add_pd(x.low + x.high); }

} // namespace
} // namespace quern::QUERN_ISA

#include "../sums.h"
#include "../../simd/each.h"
#include "../../simd/math.h"
