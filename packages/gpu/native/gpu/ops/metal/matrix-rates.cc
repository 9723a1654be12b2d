// Rates of matrices of simdgroups; without them, of the kernel for eight rows.
#include "gpu/measure.h"
#include "gpu/ops/matrices.h"

namespace quern::gpu {

template <class Weights>
static void launch_square(Gpu& gpu, const char* kernel, int tile, const Linear<Weights>& of) {
  const TileLinear<Weights> args{of, {nullptr, nullptr, 1}};
  gpu.launch(kernel, int64_t((of.rows + tile - 1) / tile) * (of.columns / tile), 128, &args);
}

template <class Weights>
static void launch_eight(Gpu& gpu, const char* kernel, const Linear<Weights>& of) {
  const FewMatrix<Weights> matrix{of.w, nullptr, of.y, of.columns, of.columns / (4 * PRODUCT_WARPS)};
  const FewLinear<Weights> args{of.x, {matrix, matrix, matrix}, of.rows, of.depth, 1, {}, {}};
  gpu.launch(kernel, matrix.end, PRODUCT_WARPS * WARP, &args);
}

static constexpr int tile = 64;

static double float_flops_of(const std::shared_ptr<Gpu>& gpu) {
  const bool whole = gpu->has_matrices();
  return rate_of(gpu, whole ? 0 : 8, whole ? tile : 256, bytes_of_floats, [&](float* x, float* y, float* w, int rows, int n) {
    const Linear<Dense<F32>> of{x, {w}, nullptr, y, rows, n, n};
    if (whole) launch_square(*gpu, "linear_tile_f32", tile, of);
    else launch_eight(*gpu, "linear_few_8_f32", of);
  });
}

static double prompt_flops_of(const std::shared_ptr<Gpu>& gpu) {
  const bool whole = gpu->has_matrices();
  return rate_of(gpu, whole ? 64 : 8, 256, bytes_of_blocks, [&](float* x, float* y, float* w, int rows, int n) {
    const Linear<Planes> of{x, planes_at(w, n), nullptr, y, rows, n, n};
    if (whole) launch_square(*gpu, "linear_tile_q4_k", tile, of);
    else launch_eight(*gpu, "linear_few_8_q4_k", of);
  });
}

// bf16 weights are multiplied as floats.
void measure_matrix_rates(const std::shared_ptr<Gpu>& gpu, Precision, Rates& rates) {
  rates.flops = rates.bf16_flops = float_flops_of(gpu), rates.prompt_flops = prompt_flops_of(gpu);
}

}  // namespace quern::gpu
