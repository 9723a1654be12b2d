// Logarithms of the probabilities of tokens. A block per row. A row with NaN or +∞, or of −∞ alone, is NaN.
#pragma once
#include "block-max.h"
#include "block-sum.h"
#include "fault-code.h"

namespace quern {
namespace gpu {

struct LogProbs {
  Global<const float> x;    // [S, V]
  Global<const int> tokens; // [S, k]: −1 is padding
  Global<float> y;          // [S, k]
  int V, k;
  Global<int> fault;        // [2]
  int op;
};

KERNEL_OF(log_probs, LogProbs, 1024, 1) {
  SHARED(float, highs, WARP);
  SHARED(float, sums, WARP);
  const Global<const float> x = args.x + int64_t(block_index()) * args.V;
  const Global<const int> tokens = args.tokens + int64_t(block_index()) * args.k;
  const Global<float> y = args.y + int64_t(block_index()) * args.k;
  float highest = -infinity(), sum = 0;
  for (int i = thread_index(); i < args.V; i += block_threads()) highest = largest(highest, x[i]);
  highest = block_max(highest, highs);
  for (int i = thread_index(); i < args.V; i += block_threads()) sum += exponential(x[i] - highest);
  sum = block_sum(sum, sums);
  for (int i = thread_index(); i < args.k; i += block_threads()) {
    const int token = tokens[i];
    if (token < -1 || token >= args.V) flag(args.fault, args.op, OUT_OF_RANGE);
    else y[i] = token < 0 ? -infinity() : x[token] - highest - logarithm(sum);
  }
}

} // namespace gpu
} // namespace quern
