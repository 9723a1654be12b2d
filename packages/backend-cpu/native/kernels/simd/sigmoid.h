#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void sigmoid(const float* x, float* y, int64_t n) {
  map(x, y, n, [](Floats v) { return x_sigmoid(set(1), v); });
}

} // namespace quern::QUERN_ISA
