#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d, 16 bytes q as q4_0: x = d * values[q].
void decode_iq4_nl(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const float d = read_f16(at);
    const uint8_t* q = at + 2;
    for (int j = 0; j < 16; j++) {
      out[j] = d * float(iq4_values[q[j] & 15]);
      out[j + 16] = d * float(iq4_values[q[j] >> 4]);
    }
  }
}

} // namespace quern::scalar
