// Rates of tensor cores.
#include "gpu/measure.h"
#include "gpu/ops/cuda/product-large.h"
#include "gpu/ops/matrices.h"
#include "kernels/cuda/row-fragments.h"

namespace quern::gpu {

static constexpr int tile = 128;

static double float_flops_of(const std::shared_ptr<Gpu>& gpu) {
  return rate_of(gpu, 0, tile, bytes_of_floats, [&](float* x, float* y, float* w, int rows, int n) {
    const TileLinear<Dense<F32>> args{{x, {w}, nullptr, y, rows, n, n}, {nullptr, nullptr, 1}};
    gpu->launch("linear_tile_3_f32", int64_t(rows / tile) * (n / tile), 256, &args);
  });
}

// With operands as a product of many rows prepares them.
static double bf16_flops_of(const std::shared_ptr<Gpu>& gpu) {
  return rate_of(gpu, 0, tile, bytes_of_floats, [&](float* x, float* y, float* w, int rows, int n) {
    const auto *const left = reinterpret_cast<const uint16_t*>(x), *const right = reinterpret_cast<const uint16_t*>(w);
    launch_whole_bf16_product(*gpu, {left, right, nullptr, y, rows, n, n, n, n, n});
  });
}

static double exact_prompt_flops_of(const std::shared_ptr<Gpu>& gpu) {
  constexpr int tile_rows = 32, tile_columns = 64;
  return rate_of(gpu, 64, 256, bytes_of_blocks, [&](float* x, float* y, float* w, int rows, int n) {
    const TileLinear<Planes> args{{x, planes_at(w, n), nullptr, y, rows, n, n}, {nullptr, nullptr, 1}};
    gpu->launch("linear_strip_3_q4_k", int64_t(rows / tile_rows) * (n / tile_columns), 256, &args);
  });
}

// x: taken as fragments.
static double prompt_flops_of(const std::shared_ptr<Gpu>& gpu, Precision precision) {
  using Has = RowBlock<4>;
  if (precision == Precision::exact) return exact_prompt_flops_of(gpu);
  return rate_of(gpu, 64, 256, bytes_of_blocks, [&](float* x, float* y, float* w, int rows, int n) {
    const FewMatrix<Planes> matrix{planes_at(w, n), nullptr, y, n, n / Has::columns};
    const RowLinear<Planes> args{reinterpret_cast<const Uint4*>(x), {matrix, matrix, matrix}, rows, n, rows / 16, 1, 0, 0, {nullptr, nullptr, 1}};
    gpu->launch("linear_rows_64_q4_k", matrix.end, Has::threads, &args);
  });
}

void measure_matrix_rates(const std::shared_ptr<Gpu>& gpu, Precision precision, Rates& rates) {
  rates.flops = float_flops_of(gpu), rates.bf16_flops = bf16_flops_of(gpu), rates.prompt_flops = prompt_flops_of(gpu, precision);
}

}  // namespace quern::gpu
