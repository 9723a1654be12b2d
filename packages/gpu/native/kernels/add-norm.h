// sum = a + b, y = norm(sum): addRmsNorm and addLayerNorm. A block per row; a thread keeps its first sums, and reads again the others
// that it wrote.
#pragma once
#include "layer-norm.h"
#include "rms-norm.h"

namespace quern {
namespace gpu {

struct AddNorm {
  Global<const float> a, b; // [rows, width]
  Global<const float> w;    // [width]
  Global<const float> bias; // [width]; of layer norms
  Global<float> sum, y;     // [rows, width]
  int width;
  float eps;
};

// sum = a + b. `first`: what the block holds; a store before other loads would make them wait.
FUNCTION void add_row(RowFours first, Global<const float> a, Global<const float> b, Global<float> sum, int width) {
  put_row_fours(sum, first, 0, width);
  for (int at = row_step(); at < width; at += row_step())
    put_row_fours(sum, sum_of_fours(row_fours(a, at, width), row_fours(b, at, width)), at, width);
}

KERNEL_AHEAD_OF(add_rms_norm, AddNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  prefetch_row(args.w, args.width);
  previous_launches_done();
  const int width = args.width;
  const int64_t row = int64_t(block_index()) * width;
  const RowFours w = row_fours(args.w, 0, width),
                 first = sum_of_fours(row_fours(args.a + row, 0, width), row_fours(args.b + row, 0, width));
  add_row(first, args.a + row, args.b + row, args.sum + row, width);
  rms_norm_row(first, w, args.sum + row, args.w, args.y + row, width, args.eps, sums);
}

KERNEL_AHEAD_OF(add_layer_norm, AddNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  SHARED(float, others, WARP);
  prefetch_row(args.w, args.width);
  prefetch_row(args.bias, args.width);
  previous_launches_done();
  const int width = args.width;
  const int64_t row = int64_t(block_index()) * width;
  const RowFours w = row_fours(args.w, 0, width), bias = row_fours(args.bias, 0, width),
                 first = sum_of_fours(row_fours(args.a + row, 0, width), row_fours(args.b + row, 0, width));
  add_row(first, args.a + row, args.b + row, args.sum + row, width);
  layer_norm_row(first, w, bias, args.sum + row, args.w, args.bias, args.y + row, width, args.eps, sums, others);
}

} // namespace gpu
} // namespace quern
