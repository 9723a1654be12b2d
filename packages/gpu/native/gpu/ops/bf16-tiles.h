// Which kernel of kernels/cuda/product-bf16.h multiplies, by the number of its blocks.
//
// For measurements and tests, QUERN_CUDA_PRODUCT: "tiles" for linear_tile_1 instead; or a kernel and the parts of k: "64x64 2".
#pragma once
#include "gpu/ops/product-large.h"
#include "kernels/cuda/product-operands.h"

namespace quern::gpu {

struct Bf16Choice {
  const char* kernel;
  int64_t tiles;
  int threads, shared_bytes;
  int parts, steps_of_part; // steps: 64 of k
};
Bf16Choice choose_bf16_tiles(int64_t rows, int64_t columns, int64_t depth, int64_t processors, int shared_memory,
                             int64_t most_parts = 8);
// y: product.y, or the parts' sums [parts, rows, y_pitch].
ProductBf16 bf16_arguments(const Bf16Product& product, const Bf16Choice& choice, float* y, int64_t y_pitch);
bool are_bf16_products_refused();

} // namespace quern::gpu
