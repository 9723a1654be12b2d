// E4M3: 8-bit floats without infinities; NaN: 0x7f and 0xff.
#pragma once
#include <math.h>
#include <stdint.h>

namespace quern::plain {

inline float e4m3_value(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f) return NAN;
  const float magnitude = exponent == 0 ? ldexpf(float(fraction), -9) : ldexpf(float(8 + fraction), exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

// Rounds to nearest, ties to even; beyond ±448: ±448.
inline uint8_t to_e4m3(float x) {
  if (isnan(x)) return 0x7f;
  const float magnitude = fminf(fabsf(x), 448);
  const int exponent = magnitude < 0x1p-6f ? -6 : ilogbf(magnitude);
  const int steps = int(nearbyintf(ldexpf(magnitude, 3 - exponent))); // 8 to 16; fewer below 2^-6
  return uint8_t((signbit(x) ? 0x80 : 0) | ((exponent + 6) * 8 + steps));
}

} // namespace quern::plain
