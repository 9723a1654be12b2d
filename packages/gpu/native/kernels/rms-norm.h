// y = x / √(mean(x²) + eps) · w (Zhang and Sennrich 2019). A block per row.
#pragma once
#include "block-sum.h"
#include "row-fours.h"

namespace quern {
namespace gpu {

struct RmsNorm {
  Global<const float> x, w; // [rows, width], [width]
  Global<float> y;          // [rows, width]
  int width;
  float eps;
};

FUNCTION float squares_of(RowFours held) {
  float squares = 0;
  UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++) squares += held.values[i] * held.values[i];
  return squares;
}

FUNCTION RowFours scaled_fours(RowFours x, float factor, RowFours w) {
  UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++) x.values[i] = x.values[i] * factor * w.values[i];
  return x;
}

// One row, by all threads of the block, which hold its first elements and those of w. Longer rows are read again.
FUNCTION void rms_norm_row(RowFours first, RowFours first_w, Global<const float> x, Global<const float> w, Global<float> y, int width,
                           float eps, Shared<float> sums) {
  float squares = squares_of(first);
  for (int at = row_step(); at < width; at += row_step()) squares += squares_of(row_fours(x, at, width));
  const float factor = inverse_square_root(block_sum(squares, sums) / float(width) + eps);
  put_row_fours(y, scaled_fours(first, factor, first_w), 0, width);
  for (int at = row_step(); at < width; at += row_step())
    put_row_fours(y, scaled_fours(row_fours(x, at, width), factor, row_fours(w, at, width)), at, width);
}

KERNEL_AHEAD_OF(rms_norm, RmsNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  prefetch_row(args.w, args.width);
  previous_launches_done();
  const int64_t row = int64_t(block_index()) * args.width;
  const RowFours x = row_fours(args.x + row, 0, args.width), w = row_fours(args.w, 0, args.width);
  rms_norm_row(x, w, args.x + row, args.w, args.y + row, args.width, args.eps, sums);
}

} // namespace gpu
} // namespace quern
