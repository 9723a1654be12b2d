// y = x / √Σx²; a row of zeros stays. A block per row.
#pragma once
#include "block-max.h"
#include "block-sum.h"

namespace quern {
namespace gpu {

struct L2Normalise {
  Global<const float> x; // [rows, width]
  Global<float> y;       // [rows, width]
  int width;
};

// Squares are of x / unit, so that they neither overflow nor vanish.
KERNEL_OF(l2_normalise, L2Normalise, 1024, 1) {
  SHARED(float, highs, WARP);
  SHARED(float, sums, WARP);
  const Global<const float> x = args.x + int64_t(block_index()) * args.width;
  const Global<float> y = args.y + int64_t(block_index()) * args.width;
  float highest = 0, squares = 0;
  for (int i = thread_index(); i < args.width; i += block_threads()) highest = largest(highest, absolute(x[i]));
  highest = block_max(highest, highs);
  const float unit = highest > 0 && highest < infinity() ? highest : 1;
  for (int i = thread_index(); i < args.width; i += block_threads()) {
    const float scaled = x[i] / unit;
    squares += scaled * scaled;
  }
  squares = block_sum(squares, sums);
  const float factor = squares == 0 ? 1 : inverse_square_root(squares);
  for (int i = thread_index(); i < args.width; i += block_threads()) y[i] = x[i] / unit * factor;
}

} // namespace gpu
} // namespace quern
