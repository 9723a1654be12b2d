// The table of AVX-512 with other integer products.
#pragma once
#include "../avx512/vector.h"
#include "../../table.h"
#undef QUERN_ISA
#define QUERN_ISA vnni
#include "../../declare-packed.h"

namespace quern::vnni {

constexpr Kernels with_vnni(Kernels kernels) {
  constexpr void (*products[FORMAT_COUNT])(const PackedGemm&) = QUERN_PACKED_GEMM;
  kernels.name = "avx512-vnni";
  for (int i = 0; i < FORMAT_COUNT; i++) kernels.packed_gemm[i] = products[i];
  return kernels;
}
constexpr Kernels table = with_vnni(avx512::table);

} // namespace quern::vnni
