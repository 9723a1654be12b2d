// Ops → launches.
#pragma once
#include "gpu/gpu.h"
#include "quern/plan.h"

namespace quern::gpu {

// Puts the kernels of an op into the GPU's queue. `fault`: int [2] on the device, for bad indices; `index`: of the op + 1. Throws
// BAD_ARGUMENT if the plan breaks the op's shape rule.
void launch_op(Gpu& gpu, const PlanOp& op, int index, int* fault);

}  // namespace quern::gpu
