// Portable kernels: plain C++ without intrinsics. The tests compare all other tables with these.
#pragma once
#define QUERN_ISA scalar
#include "../declare.h"
#include <string.h>

namespace quern::scalar {
namespace {

inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// IEEE binary16 to f32, subnormals included; a NaN becomes quiet, as with F16C.
inline float f16_value(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0) return float_of(sign | bits_of(float(fraction) * 0x1p-24f));
  if (exponent == 0x1f) return float_of(sign | 0x7f800000 | (fraction << 13) | (fraction ? 0x400000 : 0));
  return float_of(sign | ((exponent + 112) << 23) | (fraction << 13)); // 112 = 127 - 15: difference of the exponent biases
}

// An f16 at an unaligned address.
inline float read_f16(const uint8_t* at) {
  uint16_t half;
  memcpy(&half, at, sizeof half);
  return f16_value(half);
}

inline float bf16_value(uint16_t half) { return float_of(uint32_t(half) << 16); }

} // namespace
} // namespace quern::scalar
