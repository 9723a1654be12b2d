#pragma once
#include "fields.h"

namespace quern::scalar {

// f16 d, f16 m, 32 fifth bits, 16 bytes of low nibbles as q5_0: x = q * d + m.
void decode_q5_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 24, out += 32) {
    const float d = read_f16(at);
    const float m = read_f16(at + 2);
    const uint32_t fifth = read_u32(at + 4);
    const uint8_t* q = at + 8;
    for (int j = 0; j < 16; j++) {
      out[j] = float(int((q[j] & 15) | ((fifth >> j & 1) << 4))) * d + m;
      out[j + 16] = float(int((q[j] >> 4) | ((fifth >> (j + 16) & 1) << 4))) * d + m;
    }
  }
}

} // namespace quern::scalar
