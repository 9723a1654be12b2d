// y[t, n] = Σ_k x[(t · stride − padding) · channels + k] · w[n, k] + bias[n], with 0 outside of x.
#pragma once
#include "formats/every.h"
#include "product-tiles.h"

namespace quern {
namespace gpu {

template <class Weights>
struct Conv1d {
  Global<const float> x;    // [times, channels]
  Weights w;                // [columns, depth], depth = taps · channels
  Global<const float> bias; // [columns], or null
  Global<float> y;          // [rows, columns]
  int times, channels, rows, columns, depth, stride, padding;
};

#define CONV1D(Weights, name)                                                                                                \
  KERNEL(conv1d_##name, Conv1d<Weights>) {                                                                                   \
    SHARED(Float4, xs, TILE_FLOATS4);                                                                                        \
    SHARED(Float4, ws, TILE_FLOATS4);                                                                                        \
    product_tile(xs, ws, args.x, long(args.times) * args.channels, -long(args.padding) * args.channels,                      \
                 long(args.stride) * args.channels, args.w, args.bias, args.y, args.rows, args.columns, args.depth);         \
  }
EVERY_WEIGHT(CONV1D)
#undef CONV1D

} // namespace gpu
} // namespace quern
