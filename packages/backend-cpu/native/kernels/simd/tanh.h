#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void tanh(const float* x, float* y, int64_t n) {
  map(x, y, n, [](Floats v) { return tanh(v); });
}

} // namespace quern::QUERN_ISA
