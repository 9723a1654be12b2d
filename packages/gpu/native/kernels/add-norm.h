// sum = a + b, y = norm(sum): addRmsNorm and addLayerNorm. A block per row; a thread reads the sums that it wrote.
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

FUNCTION void add_row(Global<const float> a, Global<const float> b, Global<float> sum, int width) {
  for (int i = thread_index(); i < width; i += block_threads()) sum[i] = a[i] + b[i];
}

KERNEL_OF(add_rms_norm, AddNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  const long row = long(block_index()) * args.width;
  add_row(args.a + row, args.b + row, args.sum + row, args.width);
  rms_norm_row(args.sum + row, args.w, args.y + row, args.width, args.eps, sums);
}

KERNEL_OF(add_layer_norm, AddNorm, 1024, 1) {
  SHARED(float, sums, WARP);
  SHARED(float, others, WARP);
  const long row = long(block_index()) * args.width;
  add_row(args.a + row, args.b + row, args.sum + row, args.width);
  layer_norm_row(args.sum + row, args.w, args.bias, args.y + row, args.width, args.eps, sums, others);
}

} // namespace gpu
} // namespace quern
