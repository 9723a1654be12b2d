// y = (x − mean) / √(mean((x − mean)²) + eps) · w + b (Ba et al. 2016). A block per row.
#pragma once
#include "block-sum.h"

namespace quern {
namespace gpu {

struct LayerNorm {
  Global<const float> x, w, b; // [rows, width], [width], [width]
  Global<float> y;             // [rows, width]
  int width;
  float eps;
};

// The mean in two parts, rough + rest: one float is too coarse for rows far from zero.
// One row, by all threads of the block.
FUNCTION void layer_norm_row(Global<const float> x, Global<const float> w, Global<const float> b, Global<float> y, int width,
                             float eps, Shared<float> sums, Shared<float> others) {
  float sum = 0, apart = 0, squares = 0;
  for (int i = thread_index(); i < width; i += block_threads()) sum += x[i];
  const float rough = block_sum(sum, sums) / float(width);
  for (int i = thread_index(); i < width; i += block_threads()) {
    const float difference = x[i] - rough;
    apart += difference;
    squares += difference * difference;
  }
  const float rest = block_sum(apart, others) / float(width);
  const float variance = largest(block_sum(squares, sums) / float(width) - rest * rest, 0);
  const float factor = inverse_square_root(variance + eps);
  for (int i = thread_index(); i < width; i += block_threads()) y[i] = (x[i] - rough - rest) * factor * w[i] + b[i];
}

KERNEL_OF(layer_norm, LayerNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  SHARED(float, others, WARP);
  const long row = long(block_index()) * args.width;
  layer_norm_row(args.x + row, args.w, args.b, args.y + row, args.width, args.eps, sums, others);
}

} // namespace gpu
} // namespace quern
