#pragma once

namespace quern::neon {

void decode_q2_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 84, out += 256) {
    float scales[16], offsets[16];
    put(scales, as_signed(low_nibbles(bytes(at))), read_f16(at + 80));
    put(offsets, as_signed(high_nibbles(bytes(at))), -read_f16(at + 82));
    for (int part = 0; part < 4; part++) { // groups 0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15
      const uint8x16_t q = bytes(at + 16 + 16 * part);
      const int g = 8 * (part >> 1) + (part & 1);
      put(out + 16 * g, pairs<0>(q), scales[g], offsets[g]);
      put(out + 16 * g + 32, pairs<1>(q), scales[g + 2], offsets[g + 2]);
      put(out + 16 * g + 64, pairs<2>(q), scales[g + 4], offsets[g + 4]);
      put(out + 16 * g + 96, pairs<3>(q), scales[g + 6], offsets[g + 6]);
    }
  }
}

} // namespace quern::neon
