// y = (x − mean) / √(mean((x − mean)²) + eps) · w + b (Ba et al. 2016). A block per row.
#pragma once
#include "block-sum.h"
#include "row-fours.h"

namespace quern {
namespace gpu {

struct LayerNorm {
  Global<const float> x, w, b; // [rows, width], [width], [width]
  Global<float> y;             // [rows, width]
  int width;
  float eps;
};

FUNCTION float sum_of(RowFours held) {
  float sum = 0;
  UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++) sum += held.values[i];
  return sum;
}

// Sums of x − rough and of its squares: of a thread's elements.
struct Differences {
  float sum, squares;
};

FUNCTION Differences with_differences(Differences seen, RowFours held, float rough, int first, int width) {
  UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++) {
    const float difference = row_place(first, i) < width ? held.values[i] - rough : 0.0f;
    seen.sum += difference;
    seen.squares += difference * difference;
  }
  return seen;
}

struct LayerScale { // mean: in two parts
  float rough, rest, factor;
};

FUNCTION RowFours layer_fours(RowFours x, LayerScale scale, RowFours w, RowFours b) {
  UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++)
    x.values[i] = (x.values[i] - scale.rough - scale.rest) * scale.factor * w.values[i] + b.values[i];
  return x;
}

// The mean in two parts, rough + rest: one float is too coarse for rows far from zero.
// One row, by all threads of the block, which hold its first elements and those of w and b. Longer rows are read again.
FUNCTION void layer_norm_row(RowFours first, RowFours first_w, RowFours first_b, Global<const float> x, Global<const float> w,
                             Global<const float> b, Global<float> y, int width, float eps, Shared<float> sums, Shared<float> others) {
  float sum = sum_of(first);
  for (int at = row_step(); at < width; at += row_step()) sum += sum_of(row_fours(x, at, width));
  const float rough = block_sum(sum, sums) / float(width);
  Differences seen = with_differences({0, 0}, first, rough, 0, width);
  for (int at = row_step(); at < width; at += row_step()) seen = with_differences(seen, row_fours(x, at, width), rough, at, width);
  const float rest = block_sum(seen.sum, others) / float(width);
  const float variance = largest(block_sum(seen.squares, sums) / float(width) - rest * rest, 0);
  const LayerScale scale = {rough, rest, inverse_square_root(variance + eps)};
  put_row_fours(y, layer_fours(first, scale, first_w, first_b), 0, width);
  for (int at = row_step(); at < width; at += row_step())
    put_row_fours(y, layer_fours(row_fours(x, at, width), scale, row_fours(w, at, width), row_fours(b, at, width)), at, width);
}

KERNEL_AHEAD_OF(layer_norm, LayerNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  SHARED(float, others, WARP);
  prefetch_row(args.w, args.width);
  prefetch_row(args.b, args.width);
  previous_launches_done();
  const int64_t row = int64_t(block_index()) * args.width;
  const RowFours x = row_fours(args.x + row, 0, args.width), w = row_fours(args.w, 0, args.width), b = row_fours(args.b, 0, args.width);
  layer_norm_row(x, w, b, args.x + row, args.w, args.b, args.y + row, args.width, args.eps, sums, others);
}

} // namespace gpu
} // namespace quern
