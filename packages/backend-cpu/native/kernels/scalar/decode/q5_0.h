#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d, 32 fifth bits (bit j of element j), 16 bytes of low nibbles as q4_0: x = (q - 16) * d.
void decode_q5_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 22, out += 32) {
    const float d = read_f16(at);
    const uint32_t fifth = read_u32(at + 2);
    const uint8_t* q = at + 6;
    for (int j = 0; j < 16; j++) {
      out[j] = float(int((q[j] & 15) | ((fifth >> j & 1) << 4)) - 16) * d;
      out[j + 16] = float(int((q[j] >> 4) | ((fifth >> (j + 16) & 1) << 4)) - 16) * d;
    }
  }
}

} // namespace quern::scalar
