// One NEON register of bytes or 32-bit integers, in the vocabulary of simd/few-rows.h and simd/quantise.h.
#pragma once
#include <string.h>

namespace quern::QUERN_ISA {
namespace {

using Bytes = uint8x16_t;
using Ints = int32x4_t; // [LANES]

inline Bytes load_bytes(const uint8_t* p) { return vld1q_u8(p); }
template <int mask>
inline Bytes low_bits(Bytes x) { return vandq_u8(x, vdupq_n_u8(mask)); }
template <int n>
inline Bytes shift_right(Bytes x) {
  if constexpr (n == 0) return x;
  else return vshrq_n_u8(x, n);
}
template <int n>
inline Bytes shift_left(Bytes x) { return vshlq_n_u8(x, n); }
// a | (b & mask)
template <int mask>
inline Bytes merge(Bytes a, Bytes b) { return vorrq_u8(a, low_bits<mask>(b)); }

// table[x], x < 16.
inline Bytes look_up(const uint8_t (&table)[16], Bytes x) { return vqtbl1q_u8(vld1q_u8(table), x); }

inline Ints broadcast(const int32_t* p) { return vld1q_dup_s32(p); }
inline Ints no_ints() { return vdupq_n_s32(0); }
inline Floats to_floats(Ints x) { return vcvtq_f32_s32(x); }
inline uint8x8_t load_four(const void* p) {
  uint32_t four;
  memcpy(&four, p, sizeof four);
  return vreinterpret_u8_u32(vdup_n_u32(four));
}
inline Floats load_floats(const uint8_t* p) { return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(load_four(p))))); }
inline Floats load_floats(const int8_t* p) {
  return to_floats(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(load_four(p))))));
}

inline Ints largest_bits(Ints a, Ints b) { return vmaxq_s32(a, b); } // a, b ≥ 0 as integers: the sign bit is clear
inline Ints magnitude_bits(Floats x) { return vreinterpretq_s32_f32(vabsq_f32(x)); }
inline Floats floats_of_bits(Ints x) { return vreinterpretq_f32_s32(x); }
inline uint32_t largest(Ints x) { return uint32_t(vmaxvq_s32(x)); }
// Rounds to integers, ties to even, saturated to ±127.
inline void store_int8(int8_t* p, Floats x) {
  const Ints ints = vcvtnq_s32_f32(x);
  const int16x4_t words = vqmovn_s32(ints);
  const int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
  vst1_lane_s32(reinterpret_cast<int32_t*>(p), vreinterpret_s32_s8(bytes), 0);
}
// The negated sums of 16 and 16 bytes.
inline void negative_sums(const int8_t* p, int32_t* sums) {
  for (int i = 0; i < 2; i++) sums[i] = -vaddlvq_s8(vld1q_s8(p + 16 * i));
}

} // namespace
} // namespace quern::QUERN_ISA
