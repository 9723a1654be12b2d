#include "scalar.h"
#include <math.h>

namespace quern::scalar {

namespace {

uint16_t to_f16(float x) {
  const uint32_t sign = (bits_of(x) >> 16) & 0x8000;
  const uint32_t magnitude = bits_of(x) & 0x7fffffff;
  if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff)); // a quiet NaN
  if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);                              // 65520 and above round to infinity
  if (magnitude < 0x38800000) { // below 2^-14: adding 0.5 rounds to multiples of 2^-24, the spacing of f16 subnormals
    return uint16_t(sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

uint16_t to_bf16(float x) {
  const uint32_t bits = bits_of(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40); // a quiet NaN
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace

void f32_to_f16(const float* x, uint16_t* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = to_f16(x[i]);
}

void f16_to_f32(const uint16_t* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = f16_value(x[i]);
}

void f32_to_bf16(const float* x, uint16_t* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = to_bf16(x[i]);
}

void bf16_to_f32(const uint16_t* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = bf16_value(x[i]);
}

void f32_to_i8(const float* x, int8_t* row, int64_t d) {
  float top = 0;
  bool finite = true;
  for (int64_t i = 0; i < d; i++) {
    finite = finite && __builtin_isfinite(x[i]);
    top = fabsf(x[i]) > top ? fabsf(x[i]) : top;
  }
  const float scale = finite ? top / 127 : __builtin_nanf("");
  memcpy(row + d, &scale, sizeof scale);
  for (int64_t i = 0; i < d; i++) {
    const float steps = scale > 0 ? nearbyintf(x[i] / scale) : 0;
    row[i] = int8_t(steps > 127 ? 127 : steps < -127 ? -127 : steps); // the clamp matters when the scale is subnormal
  }
}

} // namespace quern::scalar
