// Registers that a launch takes, as nvcc has compiled its kernel.
#pragma once
#include <string>

namespace quern::gpu {

// Whether a block of this many threads has more registers than a processor: 65536, given to warps in steps of 8 per thread.
bool exceeds_registers(const std::string& kernel, unsigned threads);

}  // namespace quern::gpu
