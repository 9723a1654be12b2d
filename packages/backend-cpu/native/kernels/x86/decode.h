// GGUF blocks to f32, 16 quantised bytes at a time; layouts: see scalar/decode/. Results equal scalar's to the last bit.
// The ISA folder's decode.cc defines put(): 16 bytes to floats. put() may fuse multiply and add. Reason: a scale has ≤ 17
// significant bits (11 of an f16, 6 of a packed scale), and a quantised value in a format with an offset has ≤ 5 bits. So
// their product is exact in f32, and only the sum is rounded.
#pragma once
#include "../packed/tiles.h"

namespace quern::QUERN_ISA {

namespace {

inline __m128i bytes(const void* at) { return _mm_loadu_si128((const __m128i*)at); }
inline __m128i low_bits(__m128i x, int mask) { return _mm_and_si128(x, _mm_set1_epi8(char(mask))); }
inline __m128i low_nibbles(__m128i x) { return low_bits(x, 15); }
inline __m128i high_nibbles(__m128i x) { return low_bits(_mm_srli_epi16(x, 4), 15); }
inline __m128i less(__m128i x, int n) { return _mm_sub_epi8(x, _mm_set1_epi8(char(n))); }

// `value` in bytes where x & bit ≠ 0, else 0.
inline __m128i where_bit(__m128i x, __m128i bit, int value) {
  return low_bits(_mm_cmpeq_epi8(_mm_and_si128(x, bit), bit), value);
}
inline __m128i where_bit(__m128i x, int bit, int value) { return where_bit(x, _mm_set1_epi8(char(bit)), value); }

inline uint32_t read_u32(const uint8_t* at) {
  uint32_t value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

inline float read_f16(const uint8_t* at) {
  uint16_t half;
  __builtin_memcpy(&half, at, sizeof half);
  return _cvtsh_ss(half);
}

// Fifth bits of elements 0 … 15 (or 16 … 31, `second`) of a q5_0 or q5_1 block: 16 or 0 per element.
inline __m128i fifth_bits(uint32_t fifth, bool second) {
  const __m128i source = second ? _mm_setr_epi8(2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3)
                                : _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const __m128i bit = _mm_set1_epi64x(int64_t(0x8040201008040201));
  return where_bit(_mm_shuffle_epi8(_mm_cvtsi32_si128(int(fifth)), source), bit, 16);
}

// The 8 scales, then the 8 minimums, of a q4_k or q5_k block: 12 packed bytes.
inline __m128i scales_and_mins(const uint8_t* s) {
  const uint32_t a = read_u32(s), b = read_u32(s + 4), c = read_u32(s + 8);
  return _mm_setr_epi32(int(a & 0x3f3f3f3f), int((c & 0x0f0f0f0f) | ((a >> 2) & 0x30303030)), int(b & 0x3f3f3f3f),
                        int(((c >> 4) & 0x0f0f0f0f) | ((b >> 2) & 0x30303030)));
}

// The 16 signed scales of a q3_k block: 12 packed bytes.
inline __m128i signed_scales(const uint8_t* s) {
  const __m128i packed = _mm_loadl_epi64((const __m128i*)s);
  const __m128i low = low_nibbles(_mm_unpacklo_epi64(packed, _mm_srli_epi16(packed, 4)));
  const uint32_t c = read_u32(s + 8);
  const __m128i high = low_bits(_mm_setr_epi32(int(c), int(c >> 2), int(c >> 4), int(c >> 6)), 3);
  return less(_mm_or_si128(low, _mm_slli_epi16(high, 4)), 32);
}

inline __m128i look_up(const int8_t (&table)[16], __m128i nibbles) {
  return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)table), nibbles);
}

// 2^(e − 128); subnormal for e < 2.
inline float half_power(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : uint32_t(e - 1) << 23;
  float power;
  __builtin_memcpy(&power, &bits, sizeof power);
  return power;
}

// The 8 signed scales of an iq4_xs block.
inline __m128i iq4_scales(const uint8_t* block) {
  const uint32_t packed = read_u32(block + 4), high = uint32_t(block[2]) | uint32_t(block[3]) << 8;
  const __m128i nibbles = _mm_unpacklo_epi8(_mm_cvtsi32_si128(int(packed & 0x0f0f0f0f)),
                                            _mm_cvtsi32_si128(int(packed >> 4 & 0x0f0f0f0f)));
  uint64_t pairs = 0;
  for (int g = 0; g < 8; g++) pairs |= uint64_t(high >> 2 * g & 3) << (8 * g + 4);
  return less(_mm_or_si128(nibbles, _mm_cvtsi64_si128(int64_t(pairs))), 32);
}

} // namespace

} // namespace quern::QUERN_ISA

#include "../generated/x86-decode.h"
