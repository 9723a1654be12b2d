// Declares the products with packed weights in the namespace of one instruction set (QUERN_ISA), and a function that puts
// them into a table. Included again by an instruction set that takes its other kernels from another table.
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
