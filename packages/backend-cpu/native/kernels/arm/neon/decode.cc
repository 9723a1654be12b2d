// GGUF blocks to f32, 16 quantised bytes at a time; layouts: see scalar/decode/. Results equal scalar's to the last bit,
// with fused multiply-add. Reason: a scale has ≤ 17 significant bits (11 of an f16, 6 of a packed scale), and a quantised
// value in a format with an offset has ≤ 5 bits. So their product is exact in f32, and only the sum is rounded.
#include "vector.h"
#include <string.h>
#include "../../packed/tiles.h"

namespace quern::neon {

namespace {

inline uint8x16_t bytes(const uint8_t* at) { return vld1q_u8(at); }
inline int8x16_t as_signed(uint8x16_t x) { return vreinterpretq_s8_u8(x); }
inline uint8x16_t low_bits(uint8x16_t x, int mask) { return vandq_u8(x, vdupq_n_u8(uint8_t(mask))); }
inline uint8x16_t low_nibbles(uint8x16_t x) { return low_bits(x, 15); }
inline uint8x16_t high_nibbles(uint8x16_t x) { return vshrq_n_u8(x, 4); }
inline int8x16_t less(uint8x16_t x, int n) { return as_signed(vsubq_u8(x, vdupq_n_u8(uint8_t(n)))); }

// Bits 2 · pair and 2 · pair + 1 of each byte.
template <int PAIR>
inline uint8x16_t pairs(uint8x16_t x) {
  if constexpr (PAIR == 0) return low_bits(x, 3);
  else if constexpr (PAIR == 3) return vshrq_n_u8(x, 6);
  else return low_bits(vshrq_n_u8(x, 2 * PAIR), 3);
}

// `value` in bytes where x & bit ≠ 0, else 0.
inline uint8x16_t where_bit(uint8x16_t x, uint8x16_t bit, int value) { return low_bits(vtstq_u8(x, bit), value); }
inline uint8x16_t where_bit(uint8x16_t x, int bit, int value) { return where_bit(x, vdupq_n_u8(uint8_t(bit)), value); }

inline uint32_t read_u32(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

inline float read_f16(const uint8_t* at) {
  uint16_t half;
  memcpy(&half, at, sizeof half);
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}

// Fifth bits of 16 elements of a q5_0 or q5_1 block: 16 or 0 per element. Bit i of the two bytes at `at` is element i's.
inline uint8x16_t fifth_bits(const uint8_t* at) {
  const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
  return where_bit(vcombine_u8(vdup_n_u8(at[0]), vdup_n_u8(at[1])), bit, 16);
}

// The 8 scales, then the 8 minimums, of a q4_k or q5_k block: 12 packed bytes.
inline int8x16_t scales_and_mins(const uint8_t* s) {
  const uint32_t a = read_u32(s), b = read_u32(s + 4), c = read_u32(s + 8);
  const uint32x4_t words = {a & 0x3f3f3f3f, (c & 0x0f0f0f0f) | ((a >> 2) & 0x30303030), b & 0x3f3f3f3f,
                            ((c >> 4) & 0x0f0f0f0f) | ((b >> 2) & 0x30303030)};
  return vreinterpretq_s8_u32(words);
}

// The 16 signed scales of a q3_k block: 12 packed bytes.
inline int8x16_t signed_scales(const uint8_t* s) {
  const uint8x8_t packed = vld1_u8(s);
  const uint8x16_t low = vcombine_u8(vand_u8(packed, vdup_n_u8(15)), vshr_n_u8(packed, 4));
  const uint32_t c = read_u32(s + 8);
  const uint32x4_t words = {c, c >> 2, c >> 4, c >> 6};
  const uint8x16_t high = low_bits(vreinterpretq_u8_u32(words), 3);
  return less(vorrq_u8(low, vshlq_n_u8(high, 4)), 32);
}

inline int8x16_t look_up(const int8_t (&table)[16], uint8x16_t nibbles) { return vqtbl1q_s8(vld1q_s8(table), nibbles); }

// 2^(e − 128); subnormal for e < 2.
inline float half_power(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : uint32_t(e - 1) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

// The 8 signed scales of an iq4_xs block.
inline int8x16_t iq4_scales(const uint8_t* block) {
  uint8_t scales[16] = {};
  for (int g = 0; g < 8; g++)
    scales[g] = uint8_t((block[4 + g / 2] >> 4 * (g % 2) & 15) | (block[2 + g / 4] >> 2 * (g % 4) & 3) << 4);
  return less(bytes(scales), 32);
}

struct Sixteen {
  Floats part[4];
};
inline Sixteen floats(int8x16_t q) {
  const int16x8_t low = vmovl_s8(vget_low_s8(q)), high = vmovl_high_s8(q);
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
          vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))};
}

inline void put(float* out, int8x16_t q, float scale) {
  const Sixteen x = floats(q);
  for (int i = 0; i < 4; i++) store(out + 4 * i, x.part[i] * set(scale));
}
inline void put(float* out, uint8x16_t q, float scale, float offset) {
  const Sixteen x = floats(as_signed(q)); // values < 128
  for (int i = 0; i < 4; i++) store(out + 4 * i, fma(x.part[i], set(scale), set(offset)));
}

// 8 products scale · d, then 8 products minimum · −dmin, of a q4_k or q5_k block.
inline void put_affine_factors(float* out, const uint8_t* block) {
  const Sixteen x = floats(scales_and_mins(block + 4));
  const Floats d = set(read_f16(block)), minus_dmin = set(-read_f16(block + 2));
  store(out, x.part[0] * d);
  store(out + 4, x.part[1] * d);
  store(out + 8, x.part[2] * minus_dmin);
  store(out + 12, x.part[3] * minus_dmin);
}

} // namespace

} // namespace quern::neon

#include "../../generated/neon-decode.h"
