#include "gpu/rates.h"

#include <algorithm>
#include <vector>

#include "gpu/gpu-weight.h"
#include "kernels/elementwise.h"
#include "kernels/linear-many.h"

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

static double flops_of(const std::shared_ptr<Gpu>& gpu) {
  constexpr int tile = 64;
  for (int n = tile;; n *= 2) {
    const GpuBuffer arrays(gpu, 3 * uint64_t(n) * n * sizeof(float));
    gpu->fill(arrays.data(), 0, arrays.bytes());
    float* const at = reinterpret_cast<float*>(arrays.data());
    const Linear<Dense<F32>> args{at, {at + int64_t(n) * n}, nullptr, at + 2 * int64_t(n) * n, n, n, n};
    const double time = fastest(*gpu, [&] { gpu->launch("linear_many_f32", int64_t(n / tile) * (n / tile), 256, &args); });
    if (time > long_enough || !has_room(*gpu, 4 * arrays.bytes())) return 2.0 * n * n * n / time * 1e3;
  }
}

Links measure_links(const std::shared_ptr<Gpu>& gpu) {
  for (uint64_t bytes = 1 << 18;; bytes *= 4) {
    const GpuBuffer memory(gpu, bytes);
    std::vector<uint8_t> host(bytes, 1);
    const double to = fastest(*gpu, [&] { gpu->copy_in(memory.data(), host.data(), bytes); });
    const double from = fastest(*gpu, [&] { gpu->copy_out(host.data(), memory.data(), bytes); });
    if (std::min(to, from) > 2 * long_enough || bytes >= 1 << 26 || !has_room(*gpu, 4 * bytes))
      return {double(bytes) / to * 1e3, double(bytes) / from * 1e3};
  }
}

Rates measure_rates(const std::shared_ptr<Gpu>& gpu) { return {bandwidth_of(gpu), flops_of(gpu)}; }

}  // namespace quern::gpu
