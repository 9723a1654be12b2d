// The op that this device implements itself.
#pragma once
#include "quern/op-view.h"

namespace slate {

void linear(const quern::OpView& op);

// y [N] = w [N, K] · x [K], four rows of w at a time.
void product(const float* x, const float* w, int64_t N, int64_t K, float* y);

} // namespace slate
