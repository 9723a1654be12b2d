#pragma once

namespace quern::neon {

void decode_q5_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 22, out += 32) {
    const float d = read_f16(at);
    const uint8x16_t q = bytes(at + 6);
    put(out, less(vorrq_u8(low_nibbles(q), fifth_bits(at + 2)), 16), d);
    put(out + 16, less(vorrq_u8(high_nibbles(q), fifth_bits(at + 4)), 16), d);
  }
}

} // namespace quern::neon
