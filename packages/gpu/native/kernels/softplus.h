// y = factor · ln(1 + e^(x + bias)), element by element; bias and factor for each column.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct Softplus {
  Global<const float> x;      // [n]
  Global<const float> bias;   // [width]; null: zeros
  Global<const float> factor; // [width]; null: ones
  Global<float> y;            // [n]
  int64_t n, width;
};

// ln(1 + eˣ), without overflow; NaN stays NaN. ln(1 + e) = e − e² / 2 where e is small: 1 + e would lose its digits.
FUNCTION float softplus_of(float x) {
  const float e = exponential(x > 0 ? -x : x);
  return (x > 0 ? x : 0) + (e < 1e-3f ? e - 0.5f * e * e : logarithm(1 + e));
}

KERNEL(softplus, Softplus) {
  const int64_t step = grid_blocks() * block_threads();
  for (int64_t i = block_index() * block_threads() + thread_index(); i < args.n; i += step) {
    const int64_t column = column_of(i, args.width, args.n);
    const float x = args.x[i] + (args.bias ? float(args.bias[column]) : 0.0f);
    args.y[i] = (args.factor ? float(args.factor[column]) : 1.0f) * softplus_of(x);
  }
}

} // namespace gpu
} // namespace quern
