#pragma once

namespace quern::neon {

void decode_q6_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 210, out += 256) {
    float scales[16];
    put(scales, as_signed(bytes(at + 192)), read_f16(at + 208));
    for (int part = 0; part < 4; part++) { // groups as in q2_k
      const int g = 8 * (part >> 1) + (part & 1);
      const uint8x16_t a = bytes(at + 64 * (part >> 1) + 16 * (part & 1));
      const uint8x16_t b = bytes(at + 64 * (part >> 1) + 16 * (part & 1) + 32);
      const uint8x16_t high = bytes(at + 128 + 16 * part);
      const auto value = [](uint8x16_t nibbles, uint8x16_t two_bits) {
        return less(vorrq_u8(nibbles, vshlq_n_u8(two_bits, 4)), 32);
      };
      put(out + 16 * g, value(low_nibbles(a), pairs<0>(high)), scales[g]);
      put(out + 16 * g + 32, value(low_nibbles(b), pairs<1>(high)), scales[g + 2]);
      put(out + 16 * g + 64, value(high_nibbles(a), pairs<2>(high)), scales[g + 4]);
      put(out + 16 * g + 96, value(high_nibbles(b), pairs<3>(high)), scales[g + 6]);
    }
  }
}

} // namespace quern::neon
