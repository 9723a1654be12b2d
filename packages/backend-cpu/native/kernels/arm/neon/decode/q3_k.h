#pragma once

namespace quern::neon {

void decode_q3_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 110, out += 256) {
    float scales[16];
    put(scales, signed_scales(at + 96), read_f16(at + 108));
    for (int part = 0; part < 4; part++) { // groups as in q2_k
      const uint8x16_t q = bytes(at + 32 + 16 * part);
      const uint8x16_t third = bytes(at + 16 * (part & 1));
      const int g = 8 * (part >> 1) + (part & 1);
      const int bit = 1 << (g >> 1);
      const auto value = [&](uint8x16_t two_bits, int bit_of) {
        return less(vorrq_u8(two_bits, where_bit(third, bit_of, 4)), 4);
      };
      put(out + 16 * g, value(pairs<0>(q), bit), scales[g]);
      put(out + 16 * g + 32, value(pairs<1>(q), bit << 1), scales[g + 2]);
      put(out + 16 * g + 64, value(pairs<2>(q), bit << 2), scales[g + 4]);
      put(out + 16 * g + 96, value(pairs<3>(q), bit << 3), scales[g + 6]);
    }
  }
}

} // namespace quern::neon
