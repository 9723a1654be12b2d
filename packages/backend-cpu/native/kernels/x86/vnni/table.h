// The table of AVX-512 with VNNI integer products.
#pragma once
#include "../avx512/vector.h"
#include "../../table.h"
#undef QUERN_ISA
#define QUERN_ISA vnni
#include "../../declare-packed.h"
#include "../declare-superblock.h"

namespace quern::vnni {

// Rows of x from which superblocks are faster: 24 to 100 by format (native/test/run.sh bench prints it).
constexpr int64_t SUPERBLOCK_ROWS = 64;

constexpr Kernels with_vnni(Kernels kernels) {
  kernels.name = "avx512-vnni";
  with_packed_gemm(kernels);
  kernels.superblock_rows = SUPERBLOCK_ROWS;
  kernels.quantise_superblocks = quantise_superblocks;
  with_superblock_gemm(kernels);
  return kernels;
}
constexpr Kernels table = with_vnni(avx512::table);

} // namespace quern::vnni
