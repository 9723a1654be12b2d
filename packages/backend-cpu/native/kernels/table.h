// The table of one instruction set (QUERN_ISA), from the functions in declare.h. Included by each folder's table.cc.
#pragma once
#include "declare.h"

#define QUERN_QUOTE(name) #name
#define QUERN_NAME(name) QUERN_QUOTE(name)

namespace quern::QUERN_ISA {

#if defined(QUERN_INTEGER_KERNELS)
#define QUERN_QUANTISE quantise
#define QUERN_GEMM_F16 gemm_f16
#define QUERN_GEMM_BF16 gemm_bf16
#else
#define QUERN_QUANTISE nullptr
#define QUERN_GEMM_F16 nullptr
#define QUERN_GEMM_BF16 nullptr
#endif

constexpr Kernels plain_table = {
    .name = QUERN_NAME(QUERN_ISA),
    .decode = {
#define QUERN_FORMAT(name, NAME, block, block_bytes) decode_##name,
#include "generated/formats.inc"
    },
#define QUERN_KERNEL(result, name, parameters) .name = name,
#include "kernels.inc"
    .gemm_f16 = QUERN_GEMM_F16,
    .gemm_bf16 = QUERN_GEMM_BF16,
    .bf16_rows = NO_ROWS,
    .bf16_in_tiles = false,
    .round_bf16 = nullptr,
    .gemm_of_bf16 = nullptr,
    .gemm_of_bf16_f16 = nullptr,
    .split_rows = NO_ROWS,
    .split_bf16 = nullptr,
    .gemm_of_halves = nullptr,
    .gemm_of_halves_f16 = nullptr,
    .packed_bf16_rows = NO_ROWS,
    .packed_gemm_of_bf16 = {},
    .quantise = QUERN_QUANTISE,
    .packed_gemm = {},
    .superblock_rows = 0,
    .superblock_few = false,
    .quantise_superblocks = nullptr,
    .superblock_gemm = {},
    .attend_many_split = nullptr,
    .attend_many_bf16 = nullptr,
    .attend_cached_bf16 = nullptr,
};

constexpr Kernels with_integer_kernels(Kernels kernels) {
#if defined(QUERN_INTEGER_KERNELS)
  with_packed_gemm(kernels);
#endif
  return kernels;
}
constexpr Kernels table = with_integer_kernels(plain_table);

} // namespace quern::QUERN_ISA
