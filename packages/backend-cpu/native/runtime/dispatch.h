// Chooses the kernels of one instruction set.
#pragma once
#include <string>

#include "kernels/kernels.h"

namespace quern {

// The best kernels on this machine (isa empty), or the kernels of `isa`. Throws UNSUPPORTED for an unknown or unavailable
// `isa`; the message lists the available ones.
const Kernels& choose_kernels(const std::string& isa);

// Names of the available instruction sets, best first: "avx512, avx2, scalar".
std::string available_isas();

} // namespace quern
