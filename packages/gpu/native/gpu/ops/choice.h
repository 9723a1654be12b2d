// Choices from rows, for ops that end with them.
#pragma once
#include "gpu/op-call.h"
#include "kernels/top-k.h"

namespace quern::gpu {

// y[row]: the index of the largest of x[row, width].
void launch_argmax(const OpCall& op, const float* x, int32_t* y, int64_t rows, int64_t width);
void launch_top_k(const OpCall& op, const TopK& args, int64_t rows);

} // namespace quern::gpu
