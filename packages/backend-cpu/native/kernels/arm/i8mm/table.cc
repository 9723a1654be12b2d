// NEON with other integer products.
#include "../neon/vector.h"
#include "../../table.h"
#undef QUERN_ISA
#define QUERN_ISA i8mm
#include "../../declare-packed.h"

namespace quern::i8mm {

constexpr Kernels with_i8mm(Kernels kernels) {
  constexpr void (*products[FORMAT_COUNT])(const PackedGemm&) = QUERN_PACKED_GEMM;
  kernels.name = "i8mm";
  for (int i = 0; i < FORMAT_COUNT; i++) kernels.packed_gemm[i] = products[i];
  return kernels;
}
constexpr Kernels table = with_i8mm(neon::table);

} // namespace quern::i8mm

namespace quern {

const Kernels& i8mm_kernels() { return i8mm::table; }

} // namespace quern
