// Declares the products with packed weights in the namespace of one instruction set (QUERN_ISA), and what gives a table those
// kernels. A table that takes the rest from another one includes it once more.
namespace quern::QUERN_ISA {

#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) void packed_gemm_##name(const PackedGemm& args);
#include "generated/formats.inc"

constexpr void with_packed_gemm(Kernels& kernels) {
#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) kernels.packed_gemm[FORMAT_##NAME] = packed_gemm_##name;
#include "generated/formats.inc"
}

} // namespace quern::QUERN_ISA
