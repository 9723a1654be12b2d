// Numbers of 16 bits, rounded to nearest even.
#include <string.h>

#include "dialect/host.h"

namespace quern::gpu {

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

float from_bf16(unsigned short bits) { return float_of(uint32_t{bits} << 16); }

unsigned short to_bf16(float x) {
  const uint32_t bits = bits_of(x);
  if (x != x) return static_cast<unsigned short>(bits >> 16 | 0x40);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_f16(unsigned short bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return float_of(sign | 0x7f800000 | mantissa << 13);
  if (exponent > 0) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
  const float small = float(mantissa) * 0x1p-24f;
  return sign ? -small : small;
}

unsigned short to_f16(float x) {
  const uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<unsigned short>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<unsigned short>(sign | 0x7c00); // 65520 and more
  if (magnitude < 0x38800000) return static_cast<unsigned short>(sign | uint32_t(rintf(float_of(magnitude) * 0x1p24f)));
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<unsigned short>(sign | (rounded - 0x38000000) >> 13);
}

} // namespace quern::gpu
