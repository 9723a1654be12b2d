// The functions packed_gemm_FORMAT, from packed_gemm<F>.
#pragma once

namespace quern::QUERN_ISA {

#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) \
  void packed_gemm_##name(const PackedGemm& g) { packed_gemm<NAME>(g); }
#include "../generated/formats.inc"

} // namespace quern::QUERN_ISA
