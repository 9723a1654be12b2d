#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d, 32 int8 q: x = q * d.
void decode_q8_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 34, out += 32) {
    const float d = read_f16(at);
    const auto* q = reinterpret_cast<const int8_t*>(at + 2);
    for (int j = 0; j < 32; j++) out[j] = float(q[j]) * d;
  }
}

} // namespace quern::scalar
