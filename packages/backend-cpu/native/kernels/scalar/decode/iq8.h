#pragma once
#include "fields.h"

namespace quern::scalar {

// Quern's own: formats iq1, iq2, iq3 and tq become iq8 at load (@quern/quant, iq8.ts). f32 d, 16 int8 scales, 256 int8 q: x
// = d * scale * q for 16 groups of 16.
void decode_iq8(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 276, out += 256) {
    float d;
    memcpy(&d, at, sizeof d);
    const auto* scales = reinterpret_cast<const int8_t*>(at + 4);
    const auto* q = reinterpret_cast<const int8_t*>(at + 20);
    for (int i = 0; i < 256; i++) out[i] = d * float(scales[i / 16]) * float(q[i]);
  }
}

} // namespace quern::scalar
