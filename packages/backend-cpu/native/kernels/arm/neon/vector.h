// One NEON register of floats, in the vocabulary of simd/ (simd/README.md).
#pragma once
#ifndef QUERN_ISA
#define QUERN_ISA neon
#endif
#define QUERN_INTEGER_KERNELS
#include "../../declare.h"
#include <arm_neon.h>
#include <string.h>

namespace quern::QUERN_ISA {
namespace {

using Floats = float32x4_t;
constexpr int LANES = 4, REGISTERS = 32;
constexpr int TILE_T = 4, TILE_N = 4; // gemm: 16 sums, 4 rows of x and one of w in 32 registers

inline Floats set(float x) { return vdupq_n_f32(x); }
inline Floats load(const float* p) { return vld1q_f32(p); }
inline Floats load_or(Floats, const float* p) { return load(p); }
inline Floats load_or(Floats rest, const float* p, int64_t n) {
  if (n > 0) rest = vld1q_lane_f32(p, rest, 0);
  if (n > 1) rest = vld1q_lane_f32(p + 1, rest, 1);
  if (n > 2) rest = vld1q_lane_f32(p + 2, rest, 2);
  if (n > 3) rest = vld1q_lane_f32(p + 3, rest, 3);
  return rest;
}
inline Floats load(const float* p, int64_t n) { return load_or(set(0), p, n); }
inline void store(float* p, Floats x) { vst1q_f32(p, x); }
inline void store(float* p, Floats x, int64_t n) {
  if (n > 0) vst1q_lane_f32(p, x, 0);
  if (n > 1) vst1q_lane_f32(p + 1, x, 1);
  if (n > 2) vst1q_lane_f32(p + 2, x, 2);
  if (n > 3) vst1q_lane_f32(p + 3, x, 3);
}

// Four 16-bit words; reads or writes the first n.
inline uint16x4_t load_words(const uint16_t* p, int64_t n) {
  if (n == LANES) return vld1_u16(p);
  uint16x4_t words = vdup_n_u16(0);
  if (n > 0) words = vld1_lane_u16(p, words, 0);
  if (n > 1) words = vld1_lane_u16(p + 1, words, 1);
  if (n > 2) words = vld1_lane_u16(p + 2, words, 2);
  return words;
}
inline void store_words(uint16_t* p, uint16x4_t x, int64_t n) {
  if (n == LANES) return vst1_u16(p, x);
  if (n > 0) vst1_lane_u16(p, x, 0);
  if (n > 1) vst1_lane_u16(p + 1, x, 1);
  if (n > 2) vst1_lane_u16(p + 2, x, 2);
}

inline Floats load(const uint16_t* f16, int64_t n) { return vcvt_f32_f16(vreinterpret_f16_u16(load_words(f16, n))); }
inline Floats load(const uint16_t* f16) { return load(f16, LANES); }
inline void store(uint16_t* f16, Floats x, int64_t n = LANES) {
  store_words(f16, vreinterpret_u16_f16(vcvt_f16_f32(x)), n);
}

inline Floats load(const int8_t* p, int64_t n = LANES) {
  int32_t bytes = 0;
  memcpy(&bytes, p, n);
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(bytes))))));
}

inline Floats load_bf16(const uint16_t* p, int64_t n = LANES) {
  return vreinterpretq_f32_u32(vshll_n_u16(load_words(p, n), 16));
}
inline void store_bf16(uint16_t* p, Floats x, int64_t n = LANES) {
  const uint32x4_t bits = vreinterpretq_u32_f32(x);
  const uint32x4_t even = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), even);
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
  const uint32x4_t number = vceqq_f32(x, x);
  store_words(p, vshrn_n_u32(vbslq_u32(number, rounded, quiet), 16), n);
}

inline Floats fma(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
inline Floats min(Floats a, Floats b) { return vbslq_f32(vcltq_f32(a, b), a, b); } // FMIN would give NaN if either is NaN
inline Floats max(Floats a, Floats b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
inline Floats abs(Floats x) { return vabsq_f32(x); }
inline Floats round(Floats x) { return vrndnq_f32(x); }
inline Floats power_of_2(int32x4_t n) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23)); }
inline Floats fraction(Floats x) { return x - round(x); }
inline Floats times_power_of_2(Floats x, Floats n) { // two steps: 2^n alone may be out of range
  const int32x4_t whole = vcvtq_s32_f32(n);
  const int32x4_t half = vshrq_n_s32(whole, 1);
  return x * power_of_2(half) * power_of_2(vsubq_s32(whole, half));
}
inline uint32_t equal_bits(Floats a, Floats b) {
  const uint32x4_t bit = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(vceqq_f32(a, b), bit));
}

inline Floats load_twice(const float* p, int64_t n = LANES / 2) { // p[0] p[0] p[1] p[1], n values
  const Floats two = load(p, n);
  return vzip1q_f32(two, two);
}
inline Floats swap_pairs(Floats x) { return vrev64q_f32(x); }
inline Floats fma_sub_add(Floats a, Floats b, Floats c) {
  const uint32x4_t even_signs = {0x80000000, 0, 0x80000000, 0};
  return fma(a, b, vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(c), even_signs)));
}

inline float sum(Floats x) {
  const Floats two = vpaddq_f32(x, x); // x0+x1 x2+x3
  return vgetq_lane_f32(vpaddq_f32(two, two), 0);
}

// p[i] = sum of register i, i < 4, in the addition order of sum(): both functions give the same bits.
inline void store_sums(float* p, Floats a, Floats b, Floats c, Floats d) {
  store(p, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

inline float largest(Floats x) { return vmaxvq_f32(x); }

inline void transpose(Floats (&x)[LANES]) {
  const Floats ab = vtrn1q_f32(x[0], x[1]), AB = vtrn2q_f32(x[0], x[1]); // a0 b0 a2 b2, a1 b1 a3 b3
  const Floats cd = vtrn1q_f32(x[2], x[3]), CD = vtrn2q_f32(x[2], x[3]);
  const auto halves = [](Floats a) { return vreinterpretq_f64_f32(a); };
  x[0] = vreinterpretq_f32_f64(vtrn1q_f64(halves(ab), halves(cd)));
  x[1] = vreinterpretq_f32_f64(vtrn1q_f64(halves(AB), halves(CD)));
  x[2] = vreinterpretq_f32_f64(vtrn2q_f64(halves(ab), halves(cd)));
  x[3] = vreinterpretq_f32_f64(vtrn2q_f64(halves(AB), halves(CD)));
}

struct Doubles {
  float64x2_t low = vdupq_n_f64(0), high = vdupq_n_f64(0);
};
inline void add_to(Doubles& sum, Floats x) {
  sum.low += vcvt_f64_f32(vget_low_f32(x));
  sum.high += vcvt_high_f64_f32(x);
}
inline void add_squares_to(Doubles& sum, Floats x) {
  const float64x2_t low = vcvt_f64_f32(vget_low_f32(x)), high = vcvt_high_f64_f32(x);
  sum.low = vfmaq_f64(sum.low, low, low);
  sum.high = vfmaq_f64(sum.high, high, high);
}
inline double sum(const Doubles& x) { return vaddvq_f64(x.low + x.high); }

} // namespace
} // namespace quern::QUERN_ISA

#include "../../simd/each.h"
#include "../../simd/math.h"
