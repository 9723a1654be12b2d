// Each row divided by its sum. A block per row.
#pragma once
#include "block-sum.h"

namespace quern {
namespace gpu {

struct Renormalise {
  Global<float> x; // [rows, width]
  int width;
};

KERNEL(renormalise, Renormalise) {
  SHARED(float, sums, WARP);
  const Global<float> x = args.x + int64_t(block_index()) * args.width;
  float sum = 0;
  for (int i = thread_index(); i < args.width; i += block_threads()) sum += x[i];
  sum = block_sum(sum, sums);
  for (int i = thread_index(); i < args.width; i += block_threads()) x[i] = x[i] / sum;
}

} // namespace gpu
} // namespace quern
