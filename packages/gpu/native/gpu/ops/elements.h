// Launches of kernels of single elements, for ops that are made of them.
#pragma once
#include "gpu/op-call.h"
#include "kernels/map.h"

namespace quern::gpu {

// A kernel of kernels/map.h: EACH of the n elements per thread.
template <class Args>
void launch_map(const OpCall& op, const char* kernel, const Args& args) {
  op.launch_elements(kernel, (args.n + EACH - 1) / EACH, args);
}

}  // namespace quern::gpu
