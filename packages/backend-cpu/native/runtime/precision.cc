#include "runtime/precision.h"

#include <algorithm>

#include "quern/failure.h"

namespace quern {

Precision precision_named(const std::string& name) {
  if (name == "fast") return Precision::fast;
  if (name == "standard") return Precision::standard;
  if (name == "exact") return Precision::exact;
  fail(Code::bad_argument, "there is no precision '%s'; there are fast, standard and exact", name.c_str());
}

Kernels at_precision(Kernels kernels, Precision precision) {
  if (precision == Precision::fast) return kernels;
  kernels.attend_cached_bf16 = nullptr;
  kernels.bf16_rows = NO_ROWS;
  if (kernels.superblock_rows > 0) kernels.superblock_rows = NO_ROWS;
  if (precision == Precision::standard) return kernels;
  kernels.attend_many_bf16 = nullptr;
  kernels.gemm_of_bf16 = kernels.gemm_of_bf16_f16 = nullptr;
  kernels.quantise = kernels.quantise_superblocks = nullptr;
  kernels.superblock_rows = 0;
  std::ranges::fill(kernels.packed_gemm, nullptr);
  std::ranges::fill(kernels.superblock_gemm, nullptr);
  return kernels;
}

} // namespace quern
