#pragma once

namespace quern::neon {

void decode_q4_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 144, out += 256) {
    float factors[16]; // 8 scales, 8 minimums
    put_affine_factors(factors, at);
    for (int g = 0; g < 8; g += 2)
      for (int half = 0; half < 2; half++) {
        const uint8x16_t q = bytes(at + 16 + 16 * g + 16 * half);
        float* to = out + 32 * g + 16 * half;
        put(to, low_nibbles(q), factors[g], factors[g + 8]);
        put(to + 32, high_nibbles(q), factors[g + 1], factors[g + 9]);
      }
  }
}

} // namespace quern::neon
