#pragma once

namespace quern::neon {

void decode_q5_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 24, out += 32) {
    const float d = read_f16(at), m = read_f16(at + 2);
    const uint8x16_t q = bytes(at + 8);
    put(out, vorrq_u8(low_nibbles(q), fifth_bits(at + 4)), d, m);
    put(out + 16, vorrq_u8(high_nibbles(q), fifth_bits(at + 6)), d, m);
  }
}

} // namespace quern::neon
