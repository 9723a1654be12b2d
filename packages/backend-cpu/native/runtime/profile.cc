#include "runtime/profile.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "ops/product.h"
#include "quern/machine.h"
#include "quern/pages.h"
#include "runtime/least-seconds.h"

namespace quern {

static constexpr int64_t width = 1024, rows_per_chunk = 64, prompt_rows = 64;

static double measure_bandwidth(const Kernels& kernels, ThreadPool& pool) {
  // 2 × most last-level caches, not more: most of the time goes into taking new pages. The windows lie in the first half of the
  // buffer, which the second half has driven out of the caches.
  constexpr int windows = 4, parts = 2 * windows;
  const uint64_t wanted = std::min<uint64_t>(64 << 20, memory_state().available / 16);
  const int64_t window = std::max<int64_t>(1, wanted / (parts * rows_per_chunk * width * sizeof(float)));
  const Pages memory(parts * window * rows_per_chunk * width * sizeof(float));
  float* const matrix = reinterpret_cast<float*>(memory.data());
  const std::vector<float> x(width, 1.0f);
  std::vector<float> y(window * rows_per_chunk);
  constexpr int64_t page = 4096 / sizeof(float), chunk_floats = rows_per_chunk * width;
  pool.run(parts * window, [&](int64_t chunk, int) { // touch every page before the measurement
    for (int64_t i = 0; i < chunk_floats; i += page) matrix[chunk * chunk_floats + i] = 1;
  });
  int64_t first = 0; // chunk of a window
  const double seconds = least_seconds(windows, [&] {
    pool.run(window, [&](int64_t chunk, int) {
      kernels.gemm(x.data(), width, matrix + (first + chunk) * chunk_floats, width, nullptr,
                   y.data() + chunk * rows_per_chunk, rows_per_chunk, 1, rows_per_chunk, width);
    });
    first += window;
  });
  return window * chunk_floats * sizeof(float) / seconds;
}

// Operations per second of `product(thread)`, which does `operations`.
template <class Run>
static double rate_of(ThreadPool& pool, double operations, const Run& product) {
  constexpr int windows = 4;
  const double each = least_seconds(4, [&] { product(0); });
  const int64_t chunks = pool.threads() * std::clamp<int64_t>(static_cast<int64_t>(0.001 / each), 1, 1000);
  const double seconds =
      least_seconds(windows, [&] { pool.run(chunks, [&](int64_t, int thread) { product(thread); }); });
  return operations * chunks / seconds;
}

static double measure_flops(const Kernels& kernels, ThreadPool& pool) {
  constexpr int64_t T = 16, N = 16; // both operands fit L1 and L2
  const int threads = pool.threads();
  const std::vector<float> x(threads * T * width, 1.0f), w(threads * N * width, 1.0f);
  std::vector<float> y(threads * T * N);
  return rate_of(pool, 2.0 * T * N * width, [&](int thread) {
    kernels.gemm(x.data() + thread * T * width, width, w.data() + thread * N * width, width, nullptr,
                 y.data() + thread * T * N, N, T, N, width);
  });
}

// Products of `rows` rows with q4_k, in the form that the ops choose. Each thread multiplies the same operands.
static double measure_q4_k(const Kernels& kernels, ThreadPool& pool, int64_t rows) {
  constexpr int64_t N = 64;
  constexpr Format format = FORMAT_Q4_K;
  const auto matrix = [&](const uint8_t* data) {
    return kernels.packed_gemm[format] ? Matrix::packed(format, N, width, data, false) : Matrix::stored(format, N, width, data);
  };
  const Pages memory(matrix(nullptr).byte_length());
  const Matrix w = matrix(memory.data());
  std::vector<float> ones(rows * width, 1.0f), y(pool.threads() * rows * N);
  const int64_t shape[] = {rows, width};
  const Floats x = {ones.data(), shape, 2, rows * width};
  const Needs needs(kernels, rows, {&w});
  const Tiling tiling(rows, width, needs);
  const Pages prepared(Activations::floats(x, needs) * sizeof(float));
  const Pages panels(pool.threads() * tiling.panel_floats * sizeof(float));
  Activations activations(x, needs);
  activations.place(reinterpret_cast<float*>(prepared.data()), FormSizes(rows, width, needs));
  activations.prepare(kernels, 0, rows);
  const Product product(kernels, activations, w, nullptr, rows);
  return rate_of(pool, 2.0 * rows * N * width, [&](int thread) {
    product.columns(tiling, 0, N, y.data() + thread * rows * N, N,
                    reinterpret_cast<float*>(panels.data()) + thread * tiling.panel_floats);
  });
}

Profile measure_profile(const Kernels& kernels, ThreadPool& pool) {
  static std::mutex mutex;
  // By instruction set, threads, and what a precision changes: integer kernels, rows from which others are taken.
  static std::map<std::tuple<std::string, int, bool, int64_t, int64_t>, Profile> measured;
  std::lock_guard lock(mutex);
  const auto key = std::make_tuple(std::string(kernels.name), pool.threads(), kernels.quantise != nullptr,
                                   kernels.superblock_rows, kernels.packed_bf16_rows);
  const auto found = measured.find(key);
  if (found != measured.end()) return found->second;
  const Profile profile{measure_bandwidth(kernels, pool), measure_flops(kernels, pool),
                        measure_q4_k(kernels, pool, 1), measure_q4_k(kernels, pool, prompt_rows)};
  return measured.emplace(key, profile).first->second;
}

} // namespace quern
