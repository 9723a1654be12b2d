// 16-bit floats.
#pragma once
#include <stdint.h>

#include <bit>

namespace quern::plain {

inline float f16_value(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(fraction) * 0x1p-24f));
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13); // 112 = 127 − 15: difference of the exponent biases
}
float bf16_value(uint16_t half);
// Round to nearest, ties to even.
uint16_t to_f16(float x);
uint16_t to_bf16(float x);

} // namespace quern::plain
