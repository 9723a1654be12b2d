#pragma once
#include "fields.h"

namespace quern::scalar {

// q4_k with 32 bytes of fifth bits (bit g of group g) before the low nibbles.
void decode_q5_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 176, out += 256) {
    const float d = read_f16(at);
    const float dmin = read_f16(at + 2);
    const uint8_t* fifth = at + 16;
    for (int g = 0; g < 8; g++) {
      const float scale = d * float(packed_scale(at + 4, g));
      const float min = dmin * float(packed_min(at + 4, g));
      const uint8_t* q = at + 48 + 32 * (g >> 1);
      for (int l = 0; l < 32; l++)
        out[32 * g + l] = scale * float((q[l] >> 4 * (g & 1) & 15) | ((fifth[l] >> g & 1) << 4)) - min;
    }
  }
}

} // namespace quern::scalar
