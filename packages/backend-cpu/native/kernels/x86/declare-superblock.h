// Declares the products of many rows with packed weights in the namespace of one instruction set (QUERN_ISA), and a
// function that puts them into a table.
#include "../kernels.h"

namespace quern::QUERN_ISA {

void quantise_superblocks(const float* x, int64_t K, uint8_t* row);

#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) void superblock_gemm_##name(const PackedGemm& args);
#include "../generated/formats.inc"

constexpr void with_superblock_gemm(Kernels& kernels) {
#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) kernels.superblock_gemm[FORMAT_##NAME] = superblock_gemm_##name;
#include "../generated/formats.inc"
}

} // namespace quern::QUERN_ISA
