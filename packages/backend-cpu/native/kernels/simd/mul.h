#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void mul(const float* a, const float* b, float* y, int64_t n) {
  map(a, b, y, n, [](Floats u, Floats v) { return u * v; });
}

} // namespace quern::QUERN_ISA
