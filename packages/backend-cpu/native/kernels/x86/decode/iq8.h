#pragma once

namespace quern::QUERN_ISA {

void decode_iq8(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 276, out += 256) {
    float d, scales[16];
    __builtin_memcpy(&d, at, sizeof d);
    put(scales, bytes(at + 4), set(d));
    for (int g = 0; g < 16; g++) put(out + 16 * g, bytes(at + 20 + 16 * g), set(scales[g]));
  }
}

} // namespace quern::QUERN_ISA
