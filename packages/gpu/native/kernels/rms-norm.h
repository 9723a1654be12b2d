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

// One row, by all threads of the block.
FUNCTION void rms_norm_row(Global<const float> x, Global<const float> w, Global<float> y, int width, float eps, Shared<float> sums) {
  float squares = 0;
  for (int i = thread_index(); i < width; i += block_threads()) squares += x[i] * x[i];
  const float factor = inverse_square_root(block_sum(squares, sums) / float(width) + eps);
  for (int i = thread_index(); i < width; i += block_threads()) y[i] = x[i] * factor * w[i];
}

KERNEL_OF(rms_norm, RmsNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  const long row = long(block_index()) * args.width;
  rms_norm_row(args.x + row, args.w, args.y + row, args.width, args.eps, sums);
}

} // namespace gpu
} // namespace quern
