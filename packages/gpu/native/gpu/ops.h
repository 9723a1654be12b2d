// Ops → launches.
#pragma once
#include <span>

#include "gpu/folded-norms.h"
#include "gpu/scratch.h"
#include "quern/plan.h"
#include "quern/precision.h"

namespace quern::gpu {

// Puts the kernels of an op into the GPU's queue. `fault`: int [2] on the device, for bad indices; `index`: of the op + 1. Throws
// BAD_ARGUMENT if the plan breaks the op's shape rule, OUT_OF_MEMORY.
void launch_op(Gpu& gpu, Scratch& scratch, const PlanOp& op, int index, int* fault, Precision precision);

// The same of `ops`, of which the first has this folding (folded-norms.h), in fewer launches; `index`: of the first. False: nothing is
// launched.
bool launch_folded(Gpu& gpu, Scratch& scratch, std::span<const PlanOp> ops, Folding folding, int index, int* fault, Precision precision);

}  // namespace quern::gpu
