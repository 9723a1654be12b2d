#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void gelu_erf(const float* x, float* y, int64_t n) {
  map(x, y, n, [](Floats v) { return v * normal_cdf(v); });
}

void gelu_tanh(const float* x, float* y, int64_t n) { map(x, y, n, gelu_tanh_of); }

} // namespace quern::QUERN_ISA
