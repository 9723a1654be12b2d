#pragma once

namespace quern::neon {

void decode_mxfp4(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 17, out += 32) {
    const float d = half_power(at[0]);
    const uint8x16_t q = bytes(at + 1);
    put(out, look_up(fp4_values, low_nibbles(q)), d);
    put(out + 16, look_up(fp4_values, high_nibbles(q)), d);
  }
}

} // namespace quern::neon
