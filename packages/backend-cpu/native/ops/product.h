// The matrix product that linear and the fused projections share: panels of weight rows are decoded into memory that
// stays in the caches, then multiplied with every row of x. An output's bits depend on x, w and K alone, never on how
// rows were cut into chunks and panels.
#pragma once
#include <algorithm>

#include "runtime/call.h"

namespace quern {

class Product {
 public:
  // x [T, K] · w [N, K]ᵀ + bias [N], which may be null.
  Product(const Kernels& kernels, const Floats& x, const Weight& w, const float* bias)
      : kernels_(kernels), x_(x), w_(w), bias_(bias) {}

  // Columns [first, end) for all rows of x; y points at column `first` of a matrix with rows of `stride` floats.
  void columns(int64_t first, int64_t end, float* y, int64_t stride, float* panel) const;
  // The same for rows [t, t + count) of x, from a panel that `load` gave.
  void multiply(const float* panel, int64_t first, int64_t end, int64_t t, int64_t count, float* y,
                int64_t stride) const;
  // Rows [first, end) of w as floats: where they are, or decoded into `panel`.
  const float* load(int64_t first, int64_t end, float* panel) const;

 private:
  const Kernels& kernels_;
  const Floats& x_;
  const Weight& w_;
  const float* bias_;
};

// How a product of T rows over K is cut.
struct Tiling {
  Tiling(int64_t T, int64_t K);

  int64_t chunk; // columns that one thread takes at a time
  int64_t panel; // weight rows decoded at a time
  int64_t rows;  // rows of x multiplied at a time

  int64_t chunks(int64_t N) const { return (N + chunk - 1) / chunk; }
};

} // namespace quern
