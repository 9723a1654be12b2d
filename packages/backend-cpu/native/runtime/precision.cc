#include "runtime/precision.h"

#include <algorithm>

namespace quern {

Kernels at_precision(Kernels kernels, Precision precision) {
  if (precision == Precision::fast) {
    kernels.packed_bf16_rows = NO_ROWS; // superblocks
    return kernels;
  }
  kernels.attend_cached_bf16 = nullptr;
  kernels.bf16_rows = NO_ROWS;
  if (kernels.superblock_rows > 0) kernels.superblock_rows = NO_ROWS;
  if (precision == Precision::standard) return kernels;
  kernels.attend_many_bf16 = kernels.attend_many_split = nullptr;
  kernels.gemm_of_bf16 = kernels.gemm_of_bf16_f16 = nullptr;
  kernels.split_rows = kernels.packed_bf16_rows = NO_ROWS;
  kernels.quantise = kernels.quantise_superblocks = nullptr;
  kernels.superblock_rows = 0;
  std::ranges::fill(kernels.packed_gemm, nullptr);
  std::ranges::fill(kernels.superblock_gemm, nullptr);
  return kernels;
}

} // namespace quern
