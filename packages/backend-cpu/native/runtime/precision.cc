#include "runtime/precision.h"

#include <algorithm>

#include "quern/failure.h"

namespace quern {

static constexpr Precision precisions[] = {Precision::fast, Precision::standard, Precision::exact};

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::fast: return "fast";
    case Precision::standard: return "standard";
    case Precision::exact: return "exact";
  }
  return "";
}

Precision precision_named(const std::string& name) {
  for (const Precision precision : precisions)
    if (name == name_of(precision)) return precision;
  fail(Code::bad_argument, "there is no precision '%s'; there are fast, standard and exact", name.c_str());
}

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
