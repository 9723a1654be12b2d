// 16-bit floats.
#pragma once
#include <stdint.h>

namespace quern::plain {

float f16_value(uint16_t half);
float bf16_value(uint16_t half);
// Round to nearest, ties to even.
uint16_t to_f16(float x);
uint16_t to_bf16(float x);

} // namespace quern::plain
