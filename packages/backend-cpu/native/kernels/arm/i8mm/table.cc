// NEON, integer products with SMMLA and SDOT.
#include "../neon/vector.h"
#include "../../table.h"
#undef QUERN_ISA
#define QUERN_ISA i8mm
#include "../../declare-packed.h"

namespace quern::i8mm {

constexpr Kernels with_i8mm(Kernels kernels) {
  kernels.name = "i8mm";
  with_packed_gemm(kernels);
  return kernels;
}
constexpr Kernels table = with_i8mm(neon::table);

} // namespace quern::i8mm

namespace quern {

const Kernels& i8mm_kernels() { return i8mm::table; }

} // namespace quern
