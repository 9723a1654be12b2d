// AVX-512 with VNNI; tiles for many rows of x. A few rows with 16-bit weights are memory-bound and stay float products:
// AVX512-BF16 would change their bits and, on Intel's units, halve the rate.
#include "../vnni/table.h"
#undef QUERN_ISA
#define QUERN_ISA amx
#include "../declare-superblock.h"

namespace quern::amx {

// Rows of x from which tiles are used. In steps of ≤ exact_rows = 16 (runtime/call.h) each row gets the bits it would get alone, as
// speculation needs. Measured crossover of bf16 tiles and VNNI: 18 to 20 rows (docs/performance.md).
constexpr int64_t TILE_ROWS = 17;

constexpr Kernels with_tiles(Kernels kernels) {
  kernels.name = "amx";
  kernels.superblock_rows = TILE_ROWS;
  kernels.superblock_few = true; // by counting cycles, rounding a weight costs as much as 8 to 12 rows with VNNI
  with_superblock_gemm(kernels);
  return kernels;
}

GemmOfWords gemm_of_bf16, gemm_of_bf16_f16, gemm_of_halves, gemm_of_halves_f16;
void attend_many_split(const Attend& args);
void attend_many_bf16(const Attend& args);
void attend_cached_bf16(const Attend& args);
void round_bf16(const float* x, int64_t K, uint16_t* row);
void split_bf16(const float* x, int64_t K, uint16_t* row);

#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) void packed_gemm_of_bf16_##name(const PackedGemm& args);
#include "../../generated/formats.inc"

constexpr Kernels with_bf16_tiles(Kernels kernels) {
  kernels.bf16_rows = kernels.split_rows = kernels.packed_bf16_rows = TILE_ROWS;
  kernels.bf16_in_tiles = true;
  kernels.round_bf16 = round_bf16;
  kernels.gemm_of_bf16 = gemm_of_bf16;
  kernels.gemm_of_bf16_f16 = gemm_of_bf16_f16;
  kernels.split_bf16 = split_bf16;
  kernels.gemm_of_halves = gemm_of_halves;
  kernels.gemm_of_halves_f16 = gemm_of_halves_f16;
#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) kernels.packed_gemm_of_bf16[FORMAT_##NAME] = packed_gemm_of_bf16_##name;
#include "../../generated/formats.inc"
  kernels.attend_many_split = attend_many_split;
  kernels.attend_many_bf16 = attend_many_bf16;
  kernels.attend_cached_bf16 = attend_cached_bf16;
  return kernels;
}
constexpr Kernels table = with_bf16_tiles(with_tiles(vnni::table));

} // namespace quern::amx

namespace quern {

const Kernels& amx_kernels() { return amx::table; }

} // namespace quern
