// GGUF blocks to f32, 16 quantised bytes at a time; the layouts are explained in scalar/decode.cc, and results agree with
// it to the last bit. The ISA folder's decode.cc supplies put(), which turns 16 bytes into floats. It may fuse the
// multiplication and the addition: a scale has at most 17 significant bits (11 of an f16, 6 of a packed scale) and a
// quantised value that has an offset at most 5, so their product is exact in f32 and nothing is rounded twice.
#pragma once
#include "../packed/tiles.h"

namespace quern::QUERN_ISA {

namespace {

inline __m128i bytes(const void* at) { return _mm_loadu_si128((const __m128i*)at); }
inline __m128i low_bits(__m128i x, int mask) { return _mm_and_si128(x, _mm_set1_epi8(char(mask))); }
inline __m128i low_nibbles(__m128i x) { return low_bits(x, 15); }
inline __m128i high_nibbles(__m128i x) { return low_bits(_mm_srli_epi16(x, 4), 15); }
inline __m128i less(__m128i x, int n) { return _mm_sub_epi8(x, _mm_set1_epi8(char(n))); }

// `value` in the bytes where x has the bit of `bit`, else 0.
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

// 16 where the fifth bit of elements 0..15 (first) or 16..31 of a q5_0 or q5_1 block is set.
inline __m128i fifth_bits(uint32_t fifth, bool second) {
  const __m128i source = second ? _mm_setr_epi8(2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3)
                                : _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const __m128i bit = _mm_set1_epi64x(int64_t(0x8040201008040201));
  return where_bit(_mm_shuffle_epi8(_mm_cvtsi32_si128(int(fifth)), source), bit, 16);
}

// The 8 scales, then the 8 minimums of a q4_k or q5_k block, unpacked from their 12 bytes.
inline __m128i scales_and_mins(const uint8_t* s) {
  const uint32_t a = read_u32(s), b = read_u32(s + 4), c = read_u32(s + 8);
  return _mm_setr_epi32(int(a & 0x3f3f3f3f), int((c & 0x0f0f0f0f) | ((a >> 2) & 0x30303030)), int(b & 0x3f3f3f3f),
                        int(((c >> 4) & 0x0f0f0f0f) | ((b >> 2) & 0x30303030)));
}

// The 16 signed scales of a q3_k block, unpacked from their 12 bytes.
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

// 2^(e - 128): the last two are subnormal.
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

void decode_f32(const void* blocks, float* out, int64_t count) {
  if (count > 0) __builtin_memcpy(out, blocks, size_t(count) * sizeof(float));
}

void decode_f16(const void* blocks, float* out, int64_t count) { f16_to_f32(static_cast<const uint16_t*>(blocks), out, count); }

void decode_bf16(const void* blocks, float* out, int64_t count) { bf16_to_f32(static_cast<const uint16_t*>(blocks), out, count); }

void decode_q4_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const Floats d = set(read_f16(at));
    const __m128i q = bytes(at + 2);
    put(out, less(low_nibbles(q), 8), d);
    put(out + 16, less(high_nibbles(q), 8), d);
  }
}

void decode_q4_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 20, out += 32) {
    const Floats d = set(read_f16(at)), m = set(read_f16(at + 2));
    const __m128i q = bytes(at + 4);
    put(out, low_nibbles(q), d, m);
    put(out + 16, high_nibbles(q), d, m);
  }
}

void decode_q5_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 22, out += 32) {
    const Floats d = set(read_f16(at));
    const uint32_t fifth = read_u32(at + 2);
    const __m128i q = bytes(at + 6);
    put(out, less(_mm_or_si128(low_nibbles(q), fifth_bits(fifth, false)), 16), d);
    put(out + 16, less(_mm_or_si128(high_nibbles(q), fifth_bits(fifth, true)), 16), d);
  }
}

void decode_q5_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 24, out += 32) {
    const Floats d = set(read_f16(at)), m = set(read_f16(at + 2));
    const uint32_t fifth = read_u32(at + 4);
    const __m128i q = bytes(at + 8);
    put(out, _mm_or_si128(low_nibbles(q), fifth_bits(fifth, false)), d, m);
    put(out + 16, _mm_or_si128(high_nibbles(q), fifth_bits(fifth, true)), d, m);
  }
}

void decode_q8_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 34, out += 32) {
    const Floats d = set(read_f16(at));
    put(out, bytes(at + 2), d);
    put(out + 16, bytes(at + 18), d);
  }
}

void decode_q2_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 84, out += 256) {
    float scales[16], offsets[16];
    put(scales, low_nibbles(bytes(at)), set(read_f16(at + 80)));
    put(offsets, high_nibbles(bytes(at)), set(-read_f16(at + 82)));
    for (int part = 0; part < 4; part++) { // groups 0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15
      const __m128i q = bytes(at + 16 + 16 * part);
      const int g = 8 * (part >> 1) + (part & 1);
      put(out + 16 * g, low_bits(q, 3), set(scales[g]), set(offsets[g]));
      put(out + 16 * g + 32, low_bits(_mm_srli_epi16(q, 2), 3), set(scales[g + 2]), set(offsets[g + 2]));
      put(out + 16 * g + 64, low_bits(_mm_srli_epi16(q, 4), 3), set(scales[g + 4]), set(offsets[g + 4]));
      put(out + 16 * g + 96, low_bits(_mm_srli_epi16(q, 6), 3), set(scales[g + 6]), set(offsets[g + 6]));
    }
  }
}

void decode_q3_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 110, out += 256) {
    float scales[16];
    put(scales, signed_scales(at + 96), set(read_f16(at + 108)));
    for (int part = 0; part < 4; part++) { // groups as in q2_k
      const __m128i q = bytes(at + 32 + 16 * part);
      const __m128i third = bytes(at + 16 * (part & 1));
      const int g = 8 * (part >> 1) + (part & 1);
      const int bit = 1 << (g >> 1);
      const auto value = [&](__m128i pairs, int bit_of) {
        return less(_mm_or_si128(low_bits(pairs, 3), where_bit(third, bit_of, 4)), 4);
      };
      put(out + 16 * g, value(q, bit), set(scales[g]));
      put(out + 16 * g + 32, value(_mm_srli_epi16(q, 2), bit << 1), set(scales[g + 2]));
      put(out + 16 * g + 64, value(_mm_srli_epi16(q, 4), bit << 2), set(scales[g + 4]));
      put(out + 16 * g + 96, value(_mm_srli_epi16(q, 6), bit << 3), set(scales[g + 6]));
    }
  }
}

void decode_q4_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 144, out += 256) {
    float factors[16]; // 8 scales, 8 minimums
    put_affine_factors(factors, scales_and_mins(at + 4), read_f16(at), -read_f16(at + 2));
    for (int g = 0; g < 8; g += 2) {
      const Floats low = set(factors[g]), high = set(factors[g + 1]);
      const Floats low_min = set(factors[g + 8]), high_min = set(factors[g + 9]);
      for (int half = 0; half < 2; half++) {
        const __m128i q = bytes(at + 16 + 16 * g + 16 * half);
        put(out + 32 * g + 16 * half, low_nibbles(q), low, low_min);
        put(out + 32 * g + 16 * half + 32, high_nibbles(q), high, high_min);
      }
    }
  }
}

void decode_q5_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 176, out += 256) {
    float factors[16]; // 8 scales, 8 minimums
    put_affine_factors(factors, scales_and_mins(at + 4), read_f16(at), -read_f16(at + 2));
    for (int g = 0; g < 8; g += 2) {
      const Floats low = set(factors[g]), high = set(factors[g + 1]);
      const Floats low_min = set(factors[g + 8]), high_min = set(factors[g + 9]);
      for (int half = 0; half < 2; half++) {
        const __m128i q = bytes(at + 48 + 16 * g + 16 * half);
        const __m128i fifth = bytes(at + 16 + 16 * half);
        put(out + 32 * g + 16 * half, _mm_or_si128(low_nibbles(q), where_bit(fifth, 1 << g, 16)), low, low_min);
        put(out + 32 * g + 16 * half + 32, _mm_or_si128(high_nibbles(q), where_bit(fifth, 2 << g, 16)), high, high_min);
      }
    }
  }
}

void decode_q6_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 210, out += 256) {
    float scales[16];
    put(scales, bytes(at + 192), set(read_f16(at + 208)));
    for (int part = 0; part < 4; part++) { // groups as in q2_k
      const int g = 8 * (part >> 1) + (part & 1);
      const __m128i a = bytes(at + 64 * (part >> 1) + 16 * (part & 1));
      const __m128i b = bytes(at + 64 * (part >> 1) + 16 * (part & 1) + 32);
      const __m128i high = bytes(at + 128 + 16 * part);
      const auto value = [](__m128i nibbles, __m128i high_pair) { // high_pair: in bits 4 and 5
        return less(_mm_or_si128(nibbles, low_bits(high_pair, 0x30)), 32);
      };
      put(out + 16 * g, value(low_nibbles(a), _mm_slli_epi16(high, 4)), set(scales[g]));
      put(out + 16 * g + 32, value(low_nibbles(b), _mm_slli_epi16(high, 2)), set(scales[g + 2]));
      put(out + 16 * g + 64, value(high_nibbles(a), high), set(scales[g + 4]));
      put(out + 16 * g + 96, value(high_nibbles(b), _mm_srli_epi16(high, 2)), set(scales[g + 6]));
    }
  }
}

void decode_iq4_nl(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const Floats d = set(read_f16(at));
    const __m128i q = bytes(at + 2);
    put(out, look_up(iq4_values, low_nibbles(q)), d);
    put(out + 16, look_up(iq4_values, high_nibbles(q)), d);
  }
}

void decode_iq4_xs(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 136, out += 256) {
    float scales[16];
    put(scales, iq4_scales(at), set(read_f16(at)));
    for (int g = 0; g < 8; g++) {
      const __m128i q = bytes(at + 8 + 16 * g);
      put(out + 32 * g, look_up(iq4_values, low_nibbles(q)), set(scales[g]));
      put(out + 32 * g + 16, look_up(iq4_values, high_nibbles(q)), set(scales[g]));
    }
  }
}

void decode_mxfp4(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 17, out += 32) {
    const Floats d = set(half_power(at[0]));
    const __m128i q = bytes(at + 1);
    put(out, look_up(fp4_values, low_nibbles(q)), d);
    put(out + 16, look_up(fp4_values, high_nibbles(q)), d);
  }
}

void decode_iq8(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 276, out += 256) {
    float d, scales[16];
    __builtin_memcpy(&d, at, sizeof d);
    put(scales, bytes(at + 4), set(d));
    for (int g = 0; g < 16; g++) put(out + 16 * g, bytes(at + 20 + 16 * g), set(scales[g]));
  }
}

} // namespace quern::QUERN_ISA
