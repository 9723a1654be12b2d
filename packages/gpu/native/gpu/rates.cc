#include "gpu/rates.h"

#include <algorithm>

#include "gpu/measure.h"
#include "gpu/ops/matrices.h"
#include "kernels/elementwise.h"
#include "quern/failure.h"

namespace quern::gpu {

RatesFrom rates_from_named(const std::string& name) {
  if (name == "kept") return RatesFrom::kept;
  if (name == "table") return RatesFrom::table;
  if (name == "measure") return RatesFrom::measurement;
  fail(Code::bad_argument, "rates must be 'kept', 'table' or 'measure'; got '%s'", name.c_str());
}

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

static double row_flops_of(const std::shared_ptr<Gpu>& gpu) {
  return rate_of(gpu, 1, 256, bytes_of_blocks, [&](float* x, float* y, float* w, int, int n) {
    const FewMatrix<Planes> matrix{planes_at(w, n), nullptr, y, n, n / (4 * PRODUCT_WARPS)};
    const FewLinear<Planes> args{x, {matrix, matrix, matrix}, 1, n, 1, {}, {}};
    gpu->launch("linear_few_1_q4_k", matrix.end, PRODUCT_WARPS * WARP, &args);
  });
}

Rates measure_rates(const std::shared_ptr<Gpu>& gpu, Precision precision) {
  const auto [to_device, from_device] = links_of(gpu);
  Rates rates{};
  rates.bandwidth = bandwidth_of(gpu), rates.row_flops = row_flops_of(gpu);
  rates.to_device = to_device, rates.from_device = from_device;
  measure_matrix_rates(gpu, precision, rates);
  return rates;
}

bool measures_well(const Gpu& gpu) { return has_room(gpu, 1 << 28); }
bool measures_beside(const Gpu& gpu) { return gpu.free_memory() >= uint64_t(3) << 30; }

}  // namespace quern::gpu
