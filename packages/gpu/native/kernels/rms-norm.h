// y = x / √(mean(x²) + eps) · w (Zhang and Sennrich 2019). A block per row.
#pragma once
#include "block-sum.h"

namespace quern {
namespace gpu {

struct RmsNorm {
  Global<const float> x, w; // [rows, width], [width]
  Global<float> y;          // [rows, width]
  int width;
  float eps;
};

KERNEL(rms_norm, RmsNorm) {
  SHARED(float, sums, WARP);
  const Global<const float> x = args.x + long(block_index()) * args.width;
  const Global<float> y = args.y + long(block_index()) * args.width;
  float squares = 0;
  for (int i = thread_index(); i < args.width; i += block_threads()) squares += x[i] * x[i];
  const float factor = inverse_square_root(block_sum(squares, sums) / float(args.width) + args.eps);
  for (int i = thread_index(); i < args.width; i += block_threads()) y[i] = x[i] * factor * args.w[i];
}

} // namespace gpu
} // namespace quern
