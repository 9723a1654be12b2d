#pragma once
#include "fields.h"

namespace quern::scalar {

// 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 int8 scales, f16 d: x = d * scale * (q - 32) for 16 groups of
// 16. With quarter = g / 2 & 3: the low nibbles of group g are in the 16 bytes from 64 * (g / 8) + 32 * (quarter & 1) + 16
// * (g & 1), low half of each byte if quarter < 2. Its high bit pairs are in the 16 bytes from 32 * (g / 8) + 16 * (g & 1),
// at bit 2 * quarter.
void decode_q6_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 210, out += 256) {
    const float d = read_f16(at + 208);
    const auto* scales = reinterpret_cast<const int8_t*>(at + 192);
    for (int g = 0; g < 16; g++) {
      const int quarter = (g >> 1) & 3;
      const float scale = d * float(scales[g]);
      const uint8_t* low = at + 64 * (g >> 3) + 32 * (quarter & 1) + 16 * (g & 1);
      const uint8_t* high = at + 128 + pairs_at(g);
      for (int l = 0; l < 16; l++)
        out[16 * g + l] = scale * float(((low[l] >> 4 * (quarter >> 1) & 15) | ((high[l] >> 2 * quarter & 3) << 4)) - 32);
    }
  }
}

} // namespace quern::scalar
