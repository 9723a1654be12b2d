#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d, 16 bytes q: x = (q - 8) * d; byte j: element j in the low nibble, element j + 16 in the high nibble.
void decode_q4_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const float d = read_f16(at);
    const uint8_t* q = at + 2;
    for (int j = 0; j < 16; j++) {
      out[j] = float((q[j] & 15) - 8) * d;
      out[j + 16] = float((q[j] >> 4) - 8) * d;
    }
  }
}

} // namespace quern::scalar
