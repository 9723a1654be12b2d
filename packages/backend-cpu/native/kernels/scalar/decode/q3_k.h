#pragma once
#include "fields.h"

namespace quern::scalar {

// 32 bytes of third bits (group g: bit g / 2 of the 16 bytes from 16 * (g & 1)), 64 bytes of bit pairs as q2_k, 12 bytes of
// scales, f16 d: x = d * scale * (q - 4) for 16 groups of 16.
void decode_q3_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 110, out += 256) {
    const float d = read_f16(at + 108);
    for (int g = 0; g < 16; g++) {
      const float scale = d * float(packed_signed_scale(at + 96, g));
      const uint8_t* q = at + 32 + pairs_at(g);
      const uint8_t* third = at + 16 * (g & 1);
      for (int l = 0; l < 16; l++)
        out[16 * g + l] = scale * float(((q[l] >> pairs_shift(g) & 3) | ((third[l] >> (g >> 1) & 1) << 2)) - 4);
    }
  }
}

} // namespace quern::scalar
