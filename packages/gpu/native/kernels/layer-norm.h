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
KERNEL(layer_norm, LayerNorm) {
  SHARED(float, sums, WARP);
  SHARED(float, others, WARP);
  const Global<const float> x = args.x + long(block_index()) * args.width;
  const Global<float> y = args.y + long(block_index()) * args.width;
  const float width = float(args.width);
  float sum = 0, apart = 0, squares = 0;
  for (int i = thread_index(); i < args.width; i += block_threads()) sum += x[i];
  const float rough = block_sum(sum, sums) / width;
  for (int i = thread_index(); i < args.width; i += block_threads()) {
    const float difference = x[i] - rough;
    apart += difference;
    squares += difference * difference;
  }
  const float rest = block_sum(apart, others) / width;
  const float variance = largest(block_sum(squares, sums) / width - rest * rest, 0);
  const float factor = inverse_square_root(variance + args.eps);
  for (int i = thread_index(); i < args.width; i += block_threads())
    y[i] = (x[i] - rough - rest) * factor * args.w[i] + args.b[i];
}

} // namespace gpu
} // namespace quern
