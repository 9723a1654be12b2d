#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d; 8 scales of 6 bits: upper bit pairs in 2 bytes, low nibbles in 4; 128 bytes q: x = d * (scale - 32) * values[q]
// for 8 groups of 32, each 16 bytes as q4_0.
void decode_iq4_xs(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 136, out += 256) {
    const float d = read_f16(at);
    for (int g = 0; g < 8; g++) {
      const int low = at[4 + g / 2] >> 4 * (g % 2) & 15, high = at[2 + g / 4] >> 2 * (g % 4) & 3;
      const float scale = d * float((low | high << 4) - 32);
      const uint8_t* q = at + 8 + 16 * g;
      for (int j = 0; j < 16; j++) {
        out[32 * g + j] = scale * float(iq4_values[q[j] & 15]);
        out[32 * g + j + 16] = scale * float(iq4_values[q[j] >> 4]);
      }
    }
  }
}

} // namespace quern::scalar
