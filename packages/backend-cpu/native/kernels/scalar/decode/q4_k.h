#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d, f16 dmin, 12 bytes of scales and minimums, 128 bytes q: x = d * scale * q - dmin * min for 8 groups of 32; group g
// is in the 32 bytes from 32 * (g / 2): low nibbles if g is even, else high nibbles.
void decode_q4_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 144, out += 256) {
    const float d = read_f16(at);
    const float dmin = read_f16(at + 2);
    for (int g = 0; g < 8; g++) {
      const float scale = d * float(packed_scale(at + 4, g));
      const float min = dmin * float(packed_min(at + 4, g));
      const uint8_t* q = at + 16 + 32 * (g >> 1);
      for (int l = 0; l < 32; l++) out[32 * g + l] = scale * float((q[l] >> 4 * (g & 1)) & 15) - min;
    }
  }
}

} // namespace quern::scalar
