// Ops → launches.
#pragma once
#include "gpu/scratch.h"
#include "quern/plan.h"
#include "quern/precision.h"

namespace quern::gpu {

// Puts the kernels of an op into the GPU's queue. `fault`: int [2] on the device, for bad indices; `index`: of the op + 1. Throws
// BAD_ARGUMENT if the plan breaks the op's shape rule, OUT_OF_MEMORY.
void launch_op(Gpu& gpu, Scratch& scratch, const PlanOp& op, int index, int* fault, Precision precision);

}  // namespace quern::gpu
