// Which kernel of kernels/cuda/product-bf16.h or product-warpgroups.h multiplies, and how many columns at a time, by a count of time.
//
// For measurements and tests, QUERN_CUDA_PRODUCT: "tiles" for linear_tile_1 instead; or a kernel and the parts of k: "64x64 2",
// "warpgroups_128x256 1".
// QUERN_CUDA_SLAB: KiB of weights that are decoded at a time.
#pragma once
#include "gpu/ops/cuda/product-large.h"
#include "kernels/cuda/product-operands.h"

namespace quern::gpu {

// What a GPU, or an op's GPU, has for blocks.
struct BlocksOf {
  int64_t processors, shared_memory, cache_memory;
  bool has_warpgroup_products;
};
template <class Of>
BlocksOf blocks_of(const Of& gpu) { return {gpu.processors(), gpu.shared_memory(), gpu.cache_memory(), gpu.has_warpgroup_products()}; }

struct Bf16Choice {
  const char* kernel;
  int64_t tiles, blocks; // a block may have several tiles
  int tile_rows, tile_columns;
  int threads, shared_bytes;
  int parts, steps_of_part; // steps: 64 of k
  bool by_warpgroups;       // product-warpgroups.h
  double time;              // as bf16-tiles.cc counts it
};
// most_parts: of k.
Bf16Choice choose_bf16_tiles(int64_t rows, int64_t columns, int64_t depth, const BlocksOf& gpu, int64_t most_parts = 8);
// y: product.y, or the parts' sums [parts, rows, y_pitch].
ProductBf16 bf16_arguments(const Bf16Product& product, const Bf16Choice& choice, float* y, int64_t y_pitch);

// Columns of weights that are decoded at a time.
int64_t slab_columns(int64_t rows, int64_t columns, int64_t depth, const BlocksOf& gpu);
bool are_bf16_products_refused();

} // namespace quern::gpu
