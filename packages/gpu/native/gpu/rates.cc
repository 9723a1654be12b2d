#include "gpu/rates.h"

#include <algorithm>

#include "gpu/gpu-buffer.h"
#include "gpu/ops/product-large.h"
#include "gpu/weight-planes.h"
#include "kernels/block-products.h"
#include "kernels/cuda/row-fragments.h"
#include "kernels/elementwise.h"
#include "kernels/formats/every.h"

namespace quern::gpu {

static constexpr double long_enough = 0.5;  // milliseconds: a launch takes some microseconds

// Whether a measurement may take this much memory: a GPU is shared, and a measurement must not fail for lack of memory.
static bool has_room(const Gpu& gpu, uint64_t bytes) { return bytes <= std::min<uint64_t>(1 << 30, gpu.free_memory() / 4); }

// The least time of three calls, in milliseconds.
template <class F>
static double fastest(Gpu& gpu, const F& act) {
  double least = 1e30;
  for (int turn = 0; turn < 3; turn++) {
    gpu.forget_marks();
    const int start = gpu.mark();
    act();
    const int end = gpu.mark();
    gpu.finish();
    least = std::min(least, gpu.milliseconds(start, end));
  }
  return std::max(least, 1e-6);
}

static double bandwidth_of(const std::shared_ptr<Gpu>& gpu) {
  for (int64_t n = 1 << 14;; n *= 4) {
    const GpuBuffer arrays(gpu, 3 * n * sizeof(float));
    gpu->fill(arrays.data(), 0, arrays.bytes());
    float* const at = reinterpret_cast<float*>(arrays.data());
    const TwoInputs args{at, at + n, at + 2 * n, n, n};
    const double time = fastest(*gpu, [&] { gpu->launch("add", std::min<int64_t>(4096, n / 256), 256, &args); });
    if (time > long_enough || !has_room(*gpu, 4 * arrays.bytes())) return double(arrays.bytes()) / time * 1e3;
  }
}

// Products with square matrices, larger until they take long enough. launch_of(x, y, w, rows, n) makes a product
// [rows, n] · [n, n]ᵀ; rows 0: n.
template <class F>
static double rate_of(const std::shared_ptr<Gpu>& gpu, int64_t rows, int n, const F& launch_of) {
  for (;; n *= 2) {
    const int64_t height = rows > 0 ? rows : n;
    const GpuBuffer arrays(gpu, (2 * uint64_t(height) * n + uint64_t(n) * n) * sizeof(float));
    gpu->fill(arrays.data(), 0, arrays.bytes());
    float* const x = reinterpret_cast<float*>(arrays.data());
    const double time = fastest(*gpu, [&] { launch_of(x, x + height * n, x + 2 * height * n, int(height), n); });
    if (time > long_enough || n >= 8192 || !has_room(*gpu, 4 * arrays.bytes())) return 2.0 * double(height) * n * n / time * 1e3;
  }
}

static std::pair<double, double> links_of(const std::shared_ptr<Gpu>& gpu) {
  for (uint64_t bytes = 1 << 18;; bytes *= 4) {
    const GpuBuffer memory(gpu, bytes);
    const HostBuffer host(gpu, bytes);
    const double to = fastest(*gpu, [&] { gpu->copy_in(memory.data(), host.data(), bytes); });
    const double from = fastest(*gpu, [&] { gpu->copy_out(host.data(), memory.data(), bytes); });
    if (std::min(to, from) > 2 * long_enough || bytes >= 1 << 26 || !has_room(*gpu, 4 * bytes))
      return {double(bytes) / to * 1e3, double(bytes) / from * 1e3};
  }
}

static constexpr int tile = 128;

static double float_flops_of(const std::shared_ptr<Gpu>& gpu) {
  return rate_of(gpu, 0, tile, [&](float* x, float* y, float* w, int rows, int n) {
    const TileLinear<Dense<F32>> args{{x, {w}, nullptr, y, rows, n, n}, {nullptr, nullptr, 1}};
    gpu->launch("linear_tile_3_f32", int64_t(rows / tile) * (n / tile), 256, &args);
  });
}

// With operands as a product of many rows prepares them.
static double bf16_flops_of(const std::shared_ptr<Gpu>& gpu) {
  return rate_of(gpu, 0, tile, [&](float* x, float* y, float* w, int rows, int n) {
    const auto *const left = reinterpret_cast<const uint16_t*>(x), *const right = reinterpret_cast<const uint16_t*>(w);
    launch_whole_bf16_product(*gpu, {left, right, nullptr, y, rows, n, n, n, n, n});
  });
}

static Planes planes_at(float* w, int n) {
  return planes_of(reinterpret_cast<uint8_t*>(w), *find_weight_format("q4_k"), uint64_t(n) * n / GROUP);
}

static double row_flops_of(const std::shared_ptr<Gpu>& gpu) {
  return rate_of(gpu, 1, 256, [&](float* x, float* y, float* w, int, int n) {
    const FewMatrix<Planes> matrix{planes_at(w, n), nullptr, y, n, n / (4 * PRODUCT_WARPS)};
    const FewLinear<Planes> args{x, {matrix, matrix, matrix}, 1, n, 1};
    gpu->launch("linear_few_1_q4_k", matrix.end, PRODUCT_WARPS * WARP, &args);
  });
}

static double exact_prompt_flops_of(const std::shared_ptr<Gpu>& gpu) {
  constexpr int tile_rows = 32, tile_columns = 64;
  return rate_of(gpu, 64, 256, [&](float* x, float* y, float* w, int rows, int n) {
    const TileLinear<Planes> args{{x, planes_at(w, n), nullptr, y, rows, n, n}, {nullptr, nullptr, 1}};
    gpu->launch("linear_strip_3_q4_k", int64_t(rows / tile_rows) * (n / tile_columns), 256, &args);
  });
}

// x: taken as fragments.
static double prompt_flops_of(const std::shared_ptr<Gpu>& gpu, Precision precision) {
  using Has = RowBlock<4>;
  if (precision == Precision::exact) return exact_prompt_flops_of(gpu);
  return rate_of(gpu, 64, 256, [&](float* x, float* y, float* w, int rows, int n) {
    const RowLinear<Planes> args{reinterpret_cast<const Uint4*>(x), planes_at(w, n), nullptr, y, rows, n, n, rows / 16, 1};
    gpu->launch("linear_rows_64_q4_k", n / Has::columns, Has::threads, &args);
  });
}

Rates measure_rates(const std::shared_ptr<Gpu>& gpu, Precision precision) {
  const auto [to_device, from_device] = links_of(gpu);
  return {.bandwidth = bandwidth_of(gpu),
          .flops = float_flops_of(gpu),
          .bf16_flops = bf16_flops_of(gpu),
          .row_flops = row_flops_of(gpu),
          .prompt_flops = prompt_flops_of(gpu, precision),
          .to_device = to_device,
          .from_device = from_device};
}

bool measures_well(const Gpu& gpu) { return has_room(gpu, 1 << 28); }

}  // namespace quern::gpu
