// Products of few rows, for tests.
#pragma once
#include "kernels/activations.h"
#include "kernels/few-matrices.h"
#include "test/arrays.h"

namespace quern::gpu {

// silu(gate) · up, with the bits of kernels.
inline std::vector<float> gated(const std::vector<float>& gate, const std::vector<float>& up) {
  std::vector<float> y;
  for (size_t i = 0; i < gate.size(); i++) y.push_back(silu_of(gate[i]) * up[i]);
  return y;
}

// Where no memory is allocated.
template <class T>
Global<const T> nowhere() {
  const Array<T> freed(1);
  return freed.global();
}

// The kernel prefetches before it reads: in some order of threads what is not allocated is found there.
template <class Args>
void prefetches(const std::string& kernel, const char* what, const Args& args) {
  bool found = false;
  for (uint64_t seed = 0; seed < 300 && !found; seed++) try {
      launch(*find_kernel(kernel), 1, 128, &args, first_seed() + seed);
    } catch (const Fault& fault) {
      found = std::string(fault.what()).find("a prefetch") != std::string::npos;
    }
  check(found, "%s: no prefetch of %s", kernel.c_str(), what);
}

// The kernel for a number of rows: few_kernel("linear_few", 3, "f16").
inline std::string few_kernel(const std::string& name, int rows, const std::string& format) {
  return name + "_" + std::to_string(rows <= 2 ? rows : rows <= 4 ? 4 : 8) + "_" + format;
}

// A launch of linear_few with one matrix, on all its blocks.
template <class Weights>
FewLinear<Weights> few_of_one(Global<const float> x, Weights w, Global<const float> bias, Global<float> y, int rows, int columns,
                              int depth, int blocks, int parts = 1) {
  const FewMatrix<Weights> matrix{w, bias, y, columns, blocks};
  return {x, {matrix, matrix, matrix}, rows, depth, parts, {}, {}};
}

} // namespace quern::gpu
