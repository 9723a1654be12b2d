#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void swiglu(const float* gate, const float* up, float* y, int64_t n) {
  map(gate, up, y, n, [](Floats g, Floats u) { return silu_of(g) * u; });
}

} // namespace quern::QUERN_ISA
