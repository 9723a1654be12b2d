#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void scale(const float* x, float factor, float* y, int64_t n) {
  map(x, y, n, [factor](Floats v) { return v * set(factor); });
}

} // namespace quern::QUERN_ISA
