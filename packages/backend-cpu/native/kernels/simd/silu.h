#pragma once
#include "map.h"

namespace quern::QUERN_ISA {

void silu(const float* x, float* y, int64_t n) { map(x, y, n, silu_of); }

} // namespace quern::QUERN_ISA
