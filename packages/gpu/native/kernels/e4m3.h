// E4M3: 8-bit floats without infinities; NaN: 0x7f and 0xff.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

// Bytes 1 and 3 of a word as two f16: 1/256 of E4M3's values, exactly. The bytes of NaN become ±1.875.
FUNCTION unsigned e4m3_halves(unsigned word) { return (word & 0x80008000u) | (word & 0x7f007f00u) >> 1; }

// Rounds to nearest, ties to even; beyond ±448: ±448. x is not NaN.
FUNCTION unsigned char to_e4m3(float x) {
  const unsigned sign = to_bits(x) >> 24 & 0x80, bits = to_bits(x) & 0x7fffffff;
  if (bits >= to_bits(448.0f)) return (unsigned char)(sign | 0x7e);
  if (bits < to_bits(0.015625f)) // steps of 2^-9: the last bits of a float from 2^14 on
    return (unsigned char)(sign | (to_bits(from_bits(bits) + 16384.0f) - to_bits(16384.0f)));
  const unsigned rounded = bits + 0x7ffff + (bits >> 20 & 1);
  return (unsigned char)(sign | ((rounded >> 20) - (120 << 3))); // 120 = 127 - 7: difference of the exponent biases
}

} // namespace gpu
} // namespace quern
