#pragma once

namespace quern::neon {

void decode_iq4_nl(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const float d = read_f16(at);
    const uint8x16_t q = bytes(at + 2);
    put(out, look_up(iq4_values, low_nibbles(q)), d);
    put(out + 16, look_up(iq4_values, high_nibbles(q)), d);
  }
}

} // namespace quern::neon
