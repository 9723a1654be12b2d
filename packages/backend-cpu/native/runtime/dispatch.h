// Picks the kernels of one instruction set.
#pragma once
#include <string>

#include "kernels/kernels.h"

namespace quern {

// The best kernels that this machine can run, or those called `isa` where it is not empty. Throws UNSUPPORTED for a
// name that is unknown or that this machine cannot run, with the names that it can.
const Kernels& choose_kernels(const std::string& isa);

// Names of the instruction sets that this machine can run, best first: "avx512, avx2, scalar".
std::string available_isas();

} // namespace quern
