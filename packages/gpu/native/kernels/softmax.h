// y = e^(x − max) / Σ e^(x − max). A block per row. A row with NaN or +∞, or of −∞ alone, is NaN.
#pragma once
#include "block-max.h"
#include "block-sum.h"

namespace quern {
namespace gpu {

struct Softmax {
  Global<const float> x; // [rows, width]
  Global<float> y;       // [rows, width]
  int width;
};

KERNEL_OF(softmax, Softmax, 1024, 1) {
  SHARED(float, highs, WARP);
  SHARED(float, sums, WARP);
  const Global<const float> x = args.x + int64_t(block_index()) * args.width;
  const Global<float> y = args.y + int64_t(block_index()) * args.width;
  float highest = -infinity(), sum = 0;
  for (int i = thread_index(); i < args.width; i += block_threads()) highest = largest(highest, x[i]);
  highest = block_max(highest, highs);
  for (int i = thread_index(); i < args.width; i += block_threads()) sum += exponential(x[i] - highest);
  sum = block_sum(sum, sums);
  for (int i = thread_index(); i < args.width; i += block_threads()) y[i] = exponential(x[i] - highest) / sum;
}

} // namespace gpu
} // namespace quern
