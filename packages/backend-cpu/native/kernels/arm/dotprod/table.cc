// NEON, integer products with SDOT.
#include "../neon/vector.h"
#include "../../table.h"
#undef QUERN_ISA
#define QUERN_ISA dotprod
#include "../../declare-packed.h"

namespace quern::dotprod {

constexpr Kernels with_dotprod(Kernels kernels) {
  kernels.name = "dotprod";
  with_packed_gemm(kernels);
  return kernels;
}
constexpr Kernels table = with_dotprod(neon::table);

} // namespace quern::dotprod

namespace quern {

const Kernels& dotprod_kernels() { return dotprod::table; }

} // namespace quern
