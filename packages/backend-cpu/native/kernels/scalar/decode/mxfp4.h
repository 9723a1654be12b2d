#pragma once
#include "fields.h"

namespace quern::scalar {

// A byte e, 16 bytes q as q4_0: x = 2^(e - 128) * values[q]; `values` are doubled.
void decode_mxfp4(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 17, out += 32) {
    const float d = float_of(at[0] < 2 ? 0x00200000u << at[0] : uint32_t(at[0] - 1) << 23);
    const uint8_t* q = at + 1;
    for (int j = 0; j < 16; j++) {
      out[j] = d * float(fp4_values[q[j] & 15]);
      out[j + 16] = d * float(fp4_values[q[j] >> 4]);
    }
  }
}

} // namespace quern::scalar
