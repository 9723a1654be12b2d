#pragma once

namespace quern::QUERN_ISA {

void decode_iq4_xs(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 136, out += 256) {
    float scales[16];
    put(scales, iq4_scales(at), set(read_f16(at)));
    for (int g = 0; g < 8; g++) {
      const __m128i q = bytes(at + 8 + 16 * g);
      put(out + 32 * g, look_up(iq4_values, low_nibbles(q)), set(scales[g]));
      put(out + 32 * g + 16, look_up(iq4_values, high_nibbles(q)), set(scales[g]));
    }
  }
}

} // namespace quern::QUERN_ISA
