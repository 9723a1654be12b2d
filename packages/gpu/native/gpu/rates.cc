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

static constexpr double long_enough = 0.5;  // milliseconds of a turn: a launch takes some microseconds
static constexpr double warm_enough = 50;   // milliseconds of work after which clocks are those of a busy device
static constexpr int64_t most_calls = 1024; // in a turn

// Whether a measurement may take this much memory: a GPU is shared, and a measurement must not fail for lack of memory.
static bool has_room(const Gpu& gpu, uint64_t bytes) { return bytes <= std::min<uint64_t>(1 << 30, gpu.free_memory() / 4); }

// Milliseconds of act(0), act(1) … as often as `calls` says.
template <class F>
static double turn(Gpu& gpu, const F& act, int64_t calls) {
  gpu.forget_marks();
  const int start = gpu.mark();
  for (int64_t i = 0; i < calls; i++) act(i);
  const int end = gpu.mark();
  gpu.finish();
  return std::max(gpu.milliseconds(start, end), 1e-6);
}

// Of one call, roughly: the first one loads the kernel.
template <class F>
static double estimate(Gpu& gpu, const F& act) {
  turn(gpu, act, 1);
  return turn(gpu, act, 1);
}

// Milliseconds of one call: the least of three turns of a warm device, each with calls enough. One long turn makes it warm: an emulated
// device stays fast.
template <class F>
static double time_of_call(Gpu& gpu, const F& act) {
  int64_t calls = 1;
  double worked = turn(gpu, act, calls);
  for (double last = worked; last < long_enough && calls < most_calls; worked += last) last = turn(gpu, act, calls *= 2);
  while (worked < warm_enough) worked += turn(gpu, act, calls);
  double least = 1e30;
  for (int i = 0; i < 3; i++) least = std::min(least, turn(gpu, act, calls));
  return least / double(calls);
}

// Bytes that are finite numbers in every format here, and not zero: with zeros tensor cores draw less power and run faster. As bf16 and
// f32 0.0115; q4_k has scales of 1.06.
static void fill_with_numbers(Gpu& gpu, const GpuBuffer& arrays) { gpu.fill(arrays.data(), 0x3c, arrays.bytes()); }

static double bandwidth_of(const std::shared_ptr<Gpu>& gpu) {
  for (int64_t n = 1 << 14;; n *= 4) {
    const GpuBuffer arrays(gpu, 3 * n * sizeof(float));
    fill_with_numbers(*gpu, arrays);
    float* const at = reinterpret_cast<float*>(arrays.data());
    const TwoInputs args{at, at + n, at + 2 * n, n, n};
    const auto act = [&](int64_t) { gpu->launch("add", std::min<int64_t>(4096, n / 256), 256, &args); };
    if (estimate(*gpu, act) > long_enough || !has_room(*gpu, 4 * arrays.bytes()))
      return double(arrays.bytes()) / time_of_call(*gpu, act) * 1e3;
  }
}

// Bytes of weights [n, n].
static uint64_t bytes_of_floats(int n) { return uint64_t(n) * n * sizeof(float); }
static uint64_t bytes_of_blocks(int n) { return plane_offsets(*find_weight_format("q4_k"), uint64_t(n) * n / GROUP).bytes; }

// Products with square matrices, larger until they take long enough. launch_of(x, y, w, rows, n) makes a product
// [rows, n] · [n, n]ᵀ; rows 0: n. Calls take the copies of w in turn that have room in n² floats: 38.8 MB of q4_k would stay in a cache
// of 50 MB, six copies do not.
template <class F>
static double rate_of(const std::shared_ptr<Gpu>& gpu, int64_t rows, int n, uint64_t (*bytes_of)(int), const F& launch_of) {
  for (;; n *= 2) {
    const int64_t height = rows > 0 ? rows : n;
    const GpuBuffer arrays(gpu, 2 * uint64_t(height) * n * sizeof(float) + bytes_of_floats(n));
    fill_with_numbers(*gpu, arrays);
    float* const x = reinterpret_cast<float*>(arrays.data());
    uint8_t* const w = reinterpret_cast<uint8_t*>(x + 2 * height * n);
    const int64_t bytes = int64_t(bytes_of(n)), copies = int64_t(bytes_of_floats(n)) / bytes;
    const auto act = [&](int64_t i) {
      launch_of(x, x + height * n, reinterpret_cast<float*>(w + i % copies * bytes), int(height), n);
    };
    if (estimate(*gpu, act) > long_enough || n >= 8192 || !has_room(*gpu, 4 * arrays.bytes()))
      return 2.0 * double(height) * n * n / time_of_call(*gpu, act) * 1e3;
  }
}

static std::pair<double, double> links_of(const std::shared_ptr<Gpu>& gpu) {
  for (uint64_t bytes = 1 << 18;; bytes *= 4) {
    const GpuBuffer memory(gpu, bytes);
    const HostBuffer host(gpu, bytes);
    const auto to = [&](int64_t) { gpu->copy_in(memory.data(), host.data(), bytes); };
    const auto from = [&](int64_t) { gpu->copy_out(host.data(), memory.data(), bytes); };
    if (estimate(*gpu, to) > 2 * long_enough || bytes >= 1 << 26 || !has_room(*gpu, 4 * bytes))
      return {double(bytes) / time_of_call(*gpu, to) * 1e3, double(bytes) / time_of_call(*gpu, from) * 1e3};
  }
}

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

static Planes planes_at(float* w, int n) {
  return planes_of(reinterpret_cast<uint8_t*>(w), *find_weight_format("q4_k"), uint64_t(n) * n / GROUP);
}

static double row_flops_of(const std::shared_ptr<Gpu>& gpu) {
  return rate_of(gpu, 1, 256, bytes_of_blocks, [&](float* x, float* y, float* w, int, int n) {
    const FewMatrix<Planes> matrix{planes_at(w, n), nullptr, y, n, n / (4 * PRODUCT_WARPS)};
    const FewLinear<Planes> args{x, {matrix, matrix, matrix}, 1, n, 1};
    gpu->launch("linear_few_1_q4_k", matrix.end, PRODUCT_WARPS * WARP, &args);
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
