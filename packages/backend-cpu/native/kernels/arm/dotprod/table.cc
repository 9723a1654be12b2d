// NEON with other integer products.
#include "../neon/vector.h"
#include "../../table.h"
#undef QUERN_ISA
#define QUERN_ISA dotprod
#include "../../declare-packed.h"

namespace quern::dotprod {

constexpr Kernels with_dotprod(Kernels kernels) {
  constexpr void (*products[FORMAT_COUNT])(const PackedGemm&) = QUERN_PACKED_GEMM;
  kernels.name = "dotprod";
  for (int i = 0; i < FORMAT_COUNT; i++) kernels.packed_gemm[i] = products[i];
  return kernels;
}
constexpr Kernels table = with_dotprod(neon::table);

} // namespace quern::dotprod

namespace quern {

const Kernels& dotprod_kernels() { return dotprod::table; }

} // namespace quern
