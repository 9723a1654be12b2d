// y[t] = Σ over j of weights[t, j] · x[t, j]. A block per row of y.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct WeightedSum {
  Global<const float> x, weights; // [rows, k, width], [rows, k]
  Global<float> y;                // [rows, width]
  int k, width;
};

KERNEL(weighted_sum, WeightedSum) {
  const Global<const float> x = args.x + long(block_index()) * args.k * args.width;
  const Global<const float> weights = args.weights + long(block_index()) * args.k;
  const Global<float> y = args.y + long(block_index()) * args.width;
  for (int i = thread_index(); i < args.width; i += block_threads()) {
    float sum = 0;
    for (int j = 0; j < args.k; j++) sum += weights[j] * x[long(j) * args.width + i];
    y[i] = sum;
  }
}

} // namespace gpu
} // namespace quern
