#include "gpu/rates.h"

#include <algorithm>

#include "gpu/gpu-weight.h"
#include "kernels/elementwise.h"
#include "kernels/linear-many.h"

namespace quern::gpu {

static constexpr double long_enough = 0.5;  // milliseconds: a launch takes some microseconds

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
    if (time > long_enough || n >= 1 << 26) return double(arrays.bytes()) / time * 1e3;
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
    if (time > long_enough || n >= 8192) return 2.0 * n * n * n / time * 1e3;
  }
}

Rates measure_rates(const std::shared_ptr<Gpu>& gpu) { return {bandwidth_of(gpu), flops_of(gpu)}; }

}  // namespace quern::gpu
