// How rates are measured.
#pragma once
#include <functional>
#include <memory>

#include "gpu/gpu-buffer.h"
#include "gpu/gpu.h"
#include "kernels/block-products.h"

namespace quern::gpu {

inline constexpr double long_enough = 0.5;  // milliseconds of a turn: a launch takes some microseconds

using Calls = std::function<void(int64_t call)>;
// Milliseconds of one call, roughly: the first one loads the kernel.
double estimate(Gpu& gpu, const Calls& act);
// The least of three turns of a warm device, each with calls enough.
double time_of_call(Gpu& gpu, const Calls& act);

// Whether a measurement may take this much memory: a GPU is shared, and a measurement must not fail for lack of memory.
bool has_room(const Gpu& gpu, uint64_t bytes);

// Bytes that are finite numbers in every format here, and not zero: with zeros tensor cores draw less power and run faster. As bf16 and
// f32 0.0115; q4_k has scales of 1.06.
void fill_with_numbers(Gpu& gpu, const GpuBuffer& arrays);

// Bytes of weights [n, n]: floats, q4_k.
uint64_t bytes_of_floats(int n);
uint64_t bytes_of_blocks(int n);
Planes planes_at(float* w, int n); // of q4_k [n, n]

// y[rows, n] = x[rows, n] · w[n, n]ᵀ
using ProductLaunch = std::function<void(float* x, float* y, float* w, int rows, int n)>;
// Operations per second of products with square matrices, from [n, n] on, larger until they take long enough; rows 0: n. Calls take the
// copies of w in turn that have room in n² floats: 38.8 MB of q4_k would stay in a cache of 50 MB, six copies do not.
double rate_of(const std::shared_ptr<Gpu>& gpu, int64_t rows, int n, uint64_t (*bytes_of)(int), const ProductLaunch& launch_of);

}  // namespace quern::gpu
