#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void geglu(const float* gate, const float* up, float* y, int64_t n) {
  map(gate, up, y, n, [](Floats g, Floats u) { return gelu_tanh_of(g) * u; });
}

} // namespace quern::QUERN_ISA
