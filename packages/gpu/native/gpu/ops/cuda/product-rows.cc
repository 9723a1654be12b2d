#include "gpu/ops/cuda/product-rows.h"

#include <stdlib.h>

#include <algorithm>

#include "kernels/cuda/row-fragments.h"

namespace quern::gpu {

// To 128 rows weights of blocks are decoded beside the products: 5 instructions for each of tensor cores, which takes longer. A pass
// that decodes them before writes and reads 2 bytes per weight. Dense weights need none: larger tiles load x less often.
static constexpr int64_t least_rows_of_fragments = 9, most_rows_of_blocks = 128, most_rows_of_dense = 64;
static constexpr int64_t most_row_parts = 8, least_depth_of_warp = 256; // of K, of a warp: two chunks of 4-bit weights

// For measurements and tests. QUERN_CUDA_ROWS: the parts of K; 0: other kernels take these products. So do those of QUERN_CUDA_PRODUCT
// (bf16-tiles.cc).
static const char* forced_row_parts() { return getenv("QUERN_CUDA_ROWS"); }
static bool are_row_products_refused() {
  return getenv("QUERN_CUDA_PRODUCT") || (forced_row_parts() && atoi(forced_row_parts()) <= 0);
}

template <int DOWN>
static RowChoice row_choice(int64_t rows, int64_t columns, int64_t depth, int64_t processors) {
  using Has = RowBlock<DOWN>;
  constexpr int64_t height = DOWN * 16;
  const int64_t heights = (rows + height - 1) / height, blocks = heights * ((columns + Has::columns - 1) / Has::columns);
  const int64_t room = processors * Has::blocks / blocks, most = std::min(most_row_parts, depth / (least_depth_of_warp * Has::ways));
  const int64_t parts = forced_row_parts() ? atoi(forced_row_parts()) : std::max<int64_t>(1, std::min(room, most));
  return {int(height), Has::columns, Has::threads, heights * DOWN, parts};
}

// As many parts of K as the processors have room for.
RowChoice choose_row_blocks(int64_t rows, int64_t columns, int64_t depth, int64_t processors) {
  if (rows <= 16) return row_choice<1>(rows, columns, depth, processors);
  if (rows <= 32) return row_choice<2>(rows, columns, depth, processors);
  return row_choice<4>(rows, columns, depth, processors);
}

// Loads have 16 bytes, eight values of a dense weight, at any row. Kernels count eights of weights.
static bool has_wide_eights(const GpuWeight& w) {
  const int64_t N = w.shape()[0], K = w.shape()[1];
  return K % 8 == 0 && N * K / 8 <= INT32_MAX && reinterpret_cast<uintptr_t>(w.data()) % 16 == 0;
}

bool has_some_rows(const Product& product) {
  const int64_t most = product.w.format().dense ? most_rows_of_dense : most_rows_of_blocks;
  return product.rows >= least_rows_of_fragments && product.rows <= most && !product.invariant && has_wide_eights(product.w) &&
         !are_row_products_refused();
}

static const Uint4* fragments_of_x(const OpCall& op, const Product& product, int64_t tiles, int steps_of_chunk, SharedRows& shared) {
  if (shared.eights == steps_of_chunk) return static_cast<const Uint4*>(shared.fragments);
  const int64_t K = product.w.shape()[1], of_chunk = steps_of_chunk * 32;
  const int64_t steps = (K + of_chunk - 1) / of_chunk * steps_of_chunk, count = op.small(steps * tiles * 2 * WARP);
  Uint4* const fragments = op.scratch<Uint4>(count);
  op.launch_elements("row_fragments", count, RowFragments{product.x, fragments, op.small(product.rows), op.small(K), op.small(steps),
                                                          op.small(tiles), steps_of_chunk});
  shared.fragments = fragments, shared.eights = steps_of_chunk;
  return fragments;
}

static void launch_row_parts(const OpCall& op, const Product& product, const RowChoice& choice, const float* bias, float* y, SharedRows& shared) {
  const int64_t N = product.w.shape()[0], K = product.w.shape()[1];
  const WeightFormat& format = product.w.format();
  const int steps = format.dense ? DENSE_STEPS : steps_of_blocks(format.low);
  const Uint4* const x = fragments_of_x(op, product, choice.tiles, steps, shared);
  const std::string kernel = kernel_for(("linear_rows_" + std::to_string(choice.height)).c_str(), product.w);
  const int64_t blocks = choice.tiles * 16 / choice.height * choice.parts * ((N + choice.columns - 1) / choice.columns);
  with_array(product.w, [&](auto w) {
    op.launch(kernel, blocks, choice.threads, RowLinear<decltype(w)>{x, w, bias, y, op.small(product.rows), op.small(N), op.small(K),
                                                                     op.small(choice.tiles), op.small(choice.parts)});
  });
}

void launch_row_product(const OpCall& op, const Product& product) {
  const int64_t N = product.w.shape()[0], outputs = product.rows * N;
  const RowChoice choice = choose_row_blocks(product.rows, N, product.w.shape()[1], op.processors());
  SharedRows own, &shared = product.shared ? *product.shared : own;
  if (choice.parts == 1) return launch_row_parts(op, product, choice, product.bias, product.y, shared);
  float* const parts = shared.sums.take(op, choice.parts * outputs);
  launch_row_parts(op, product, choice, nullptr, parts, shared);
  op.launch_elements("row_sums", outputs, RowSums{parts, product.bias, product.y, op.small(choice.parts), op.small(N), long(outputs)});
}

} // namespace quern::gpu
