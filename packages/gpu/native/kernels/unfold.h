// The windows of a convolution along time as rows of a matrix: a block per window. y[t, k] = x[(t · stride − padding) · channels + k],
// with 0 outside of x.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct Unfold {
  Global<const float> x; // [times, channels]
  Global<float> y;       // [rows, depth], depth = taps · channels
  int times, channels, depth, stride, padding;
};

KERNEL(unfold, Unfold) {
  const int64_t first = (int64_t(block_index()) * args.stride - args.padding) * args.channels, count = int64_t(args.times) * args.channels;
  const Global<float> y = args.y + int64_t(block_index()) * args.depth;
  for (int k = thread_index(); k < args.depth; k += block_threads()) {
    const int64_t at = first + k;
    y[k] = at >= 0 && at < count ? float(args.x[at]) : 0.0f;
  }
}

} // namespace gpu
} // namespace quern
