#pragma once

namespace quern::QUERN_ISA {

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

} // namespace quern::QUERN_ISA
