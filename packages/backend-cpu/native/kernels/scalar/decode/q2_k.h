#pragma once
#include "fields.h"

namespace quern::scalar {

// 16 bytes (scale low nibble, min high nibble), 64 bytes of bit pairs, f16 d, f16 dmin: x = d * scale * q - dmin * min
// for 16 groups of 16.
void decode_q2_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 84, out += 256) {
    const float d = read_f16(at + 80);
    const float dmin = read_f16(at + 82);
    for (int g = 0; g < 16; g++) {
      const float scale = d * float(at[g] & 15);
      const float min = dmin * float(at[g] >> 4);
      const uint8_t* q = at + 16 + pairs_at(g);
      for (int l = 0; l < 16; l++) out[16 * g + l] = scale * float((q[l] >> pairs_shift(g)) & 3) - min;
    }
  }
}

} // namespace quern::scalar
