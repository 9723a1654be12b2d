// y[t] = residual[t] + Σ over j of weights[t, j] · x[t, j]. A block per row of y.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct WeightedSum {
  Global<const float> x, weights; // [rows, k, width], [rows, k]
  Global<const float> residual;   // [rows, width], or null
  Global<float> y;                // [rows, width]
  int k, width;
};

KERNEL(weighted_sum, WeightedSum) {
  const Global<const float> x = args.x + int64_t(block_index()) * args.k * args.width;
  const Global<const float> weights = args.weights + int64_t(block_index()) * args.k;
  const int64_t row = int64_t(block_index()) * args.width;
  for (int i = thread_index(); i < args.width; i += block_threads()) {
    float sum = 0;
    for (int j = 0; j < args.k; j++) sum += weights[j] * x[int64_t(j) * args.width + i];
    args.y[row + i] = args.residual ? args.residual[row + i] + sum : sum;
  }
}

} // namespace gpu
} // namespace quern
