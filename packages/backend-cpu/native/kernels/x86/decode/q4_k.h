#pragma once

namespace quern::QUERN_ISA {

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

} // namespace quern::QUERN_ISA
