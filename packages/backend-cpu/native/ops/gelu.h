// The kernel of gelu's `form`.
#pragma once
#include "kernels/kernels.h"

namespace quern {

inline auto gelu_kernel(const Kernels& kernels, int32_t form) {
  constexpr int32_t erf = 0;
  return form == erf ? kernels.gelu_erf : kernels.gelu_tanh;
}

} // namespace quern
