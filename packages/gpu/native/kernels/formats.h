// Formats of floats: what is stored, its value, its bits, and a value rounded to nearest even.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

// Neighbouring values in registers.
struct Eight {
  float values[8];
};

struct F32 {
  using Stored = float;
  static FUNCTION float value(float x) { return x; }
  static FUNCTION float rounded(float x) { return x; }
  static FUNCTION float of_bits(unsigned bits) { return from_bits(bits); }
  static FUNCTION unsigned bits(float x) { return to_bits(x); }
};
struct F16 {
  using Stored = unsigned short;
  static FUNCTION float value(unsigned short bits) { return from_f16(bits); }
  static FUNCTION unsigned short rounded(float x) { return to_f16(x); }
  static FUNCTION float of_bits(unsigned bits) { return value((unsigned short)(bits)); }
  static FUNCTION unsigned bits(unsigned short x) { return x; }
};
struct Bf16 {
  using Stored = unsigned short;
  static FUNCTION float value(unsigned short bits) { return from_bf16(bits); }
  static FUNCTION unsigned short rounded(float x) { return to_bf16(x); }
  static FUNCTION float of_bits(unsigned bits) { return value((unsigned short)(bits)); }
  static FUNCTION unsigned bits(unsigned short x) { return x; }
};

} // namespace gpu
} // namespace quern
