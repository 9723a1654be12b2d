#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d, f16 m, 16 bytes q as q4_0: x = q * d + m.
void decode_q4_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 20, out += 32) {
    const float d = read_f16(at);
    const float m = read_f16(at + 2);
    const uint8_t* q = at + 4;
    for (int j = 0; j < 16; j++) {
      out[j] = float(q[j] & 15) * d + m;
      out[j + 16] = float(q[j] >> 4) * d + m;
    }
  }
}

} // namespace quern::scalar
