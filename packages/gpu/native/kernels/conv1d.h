// y[t, n] = Σ_k x[(t · stride − padding) · channels + k] · w[n, k] + bias[n], with 0 outside of x.
#pragma once
#include "product-tiles.h"

namespace quern {
namespace gpu {

template <class Stored>
struct Conv1d {
  Global<const float> x;    // [times, channels]
  Global<const Stored> w;   // [columns, depth], depth = taps · channels
  Global<const float> bias; // [columns], or null
  Global<float> y;          // [rows, columns]
  int times, channels, rows, columns, depth, stride, padding;
};

template <class Format>
FUNCTION void conv1d(Shared<Float4> xs, Shared<Float4> ws, Global<const float> x, Global<const typename Format::Stored> w,
                     Global<const float> bias, Global<float> y, int times, int channels, int rows, int columns, int depth,
                     int stride, int padding) {
  product_tile<Format>(xs, ws, x, long(times) * channels, -long(padding) * channels, long(stride) * channels, w, bias, y, rows,
                       columns, depth);
}

KERNEL(conv1d_f32, Conv1d<float>) {
  SHARED(Float4, xs, TILE_FLOATS4);
  SHARED(Float4, ws, TILE_FLOATS4);
  conv1d<F32>(xs, ws, args.x, args.w, args.bias, args.y, args.times, args.channels, args.rows, args.columns, args.depth,
              args.stride, args.padding);
}

KERNEL(conv1d_f16, Conv1d<unsigned short>) {
  SHARED(Float4, xs, TILE_FLOATS4);
  SHARED(Float4, ws, TILE_FLOATS4);
  conv1d<F16>(xs, ws, args.x, args.w, args.bias, args.y, args.times, args.channels, args.rows, args.columns, args.depth,
              args.stride, args.padding);
}

KERNEL(conv1d_bf16, Conv1d<unsigned short>) {
  SHARED(Float4, xs, TILE_FLOATS4);
  SHARED(Float4, ws, TILE_FLOATS4);
  conv1d<Bf16>(xs, ws, args.x, args.w, args.bias, args.y, args.times, args.channels, args.rows, args.columns, args.depth,
               args.stride, args.padding);
}

} // namespace gpu
} // namespace quern
