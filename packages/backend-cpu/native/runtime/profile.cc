#include "runtime/profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "quern/machine.h"
#include "quern/pages.h"

namespace quern {

using Clock = std::chrono::steady_clock;

static double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static constexpr int64_t width = 1024, rows_per_chunk = 64;

static double measure_bandwidth(const Kernels& kernels, ThreadPool& pool) {
  // 1.5 × most last-level caches, not more: most of the time goes into taking new pages.
  const uint64_t wanted = std::min<uint64_t>(48 << 20, memory_state().available / 16);
  const int64_t chunks = std::max<int64_t>(1, wanted / (rows_per_chunk * width * sizeof(float)));
  const Pages memory(chunks * rows_per_chunk * width * sizeof(float));
  float* const matrix = reinterpret_cast<float*>(memory.data());
  const std::vector<float> x(width, 1.0f);
  std::vector<float> y(chunks * rows_per_chunk);
  constexpr int64_t page = 4096 / sizeof(float), chunk_floats = rows_per_chunk * width;
  pool.run(chunks, [&](int64_t chunk, int) { // touch every page before the measurement
    for (int64_t i = 0; i < chunk_floats; i += page) matrix[chunk * chunk_floats + i] = 1;
  });
  const auto start = Clock::now();
  pool.run(chunks, [&](int64_t chunk, int) {
    kernels.gemm(x.data(), width, matrix + chunk * chunk_floats, width, nullptr, y.data() + chunk * rows_per_chunk,
                 rows_per_chunk, 1, rows_per_chunk, width);
  });
  return memory.bytes() / seconds_since(start);
}

static double measure_flops(const Kernels& kernels, ThreadPool& pool) {
  constexpr int64_t T = 16, N = 16; // both operands fit L1 and L2
  const int threads = pool.threads();
  const std::vector<float> x(threads * T * width, 1.0f), w(threads * N * width, 1.0f);
  std::vector<float> y(threads * T * N);
  const auto product = [&](int64_t, int thread) {
    kernels.gemm(x.data() + thread * T * width, width, w.data() + thread * N * width, width, nullptr,
                 y.data() + thread * T * N, N, T, N, width);
  };
  const auto warm = Clock::now();
  for (int i = 0; i < 4; i++) product(0, 0);
  const double each = seconds_since(warm) / 4;
  const int64_t chunks = threads * std::clamp<int64_t>(static_cast<int64_t>(0.004 / each), 1, 1000);
  const auto start = Clock::now();
  pool.run(chunks, product);
  return 2.0 * T * N * width * chunks / seconds_since(start);
}

Profile measure_profile(const Kernels& kernels, ThreadPool& pool) {
  static std::mutex mutex;
  static std::map<std::pair<const Kernels*, int>, Profile> measured;
  std::lock_guard lock(mutex);
  const auto key = std::make_pair(&kernels, pool.threads());
  const auto found = measured.find(key);
  if (found != measured.end()) return found->second;
  const Profile profile{measure_bandwidth(kernels, pool), measure_flops(kernels, pool)};
  return measured.emplace(key, profile).first->second;
}

} // namespace quern
