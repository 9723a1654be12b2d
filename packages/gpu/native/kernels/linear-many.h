// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for any number of rows of x.
#pragma once
#include "product-tiles.h"

namespace quern {
namespace gpu {

template <class Format>
FUNCTION void linear_many(Shared<Float4> xs, Shared<Float4> ws, Global<const float> x, Global<const typename Format::Stored> w,
                          Global<const float> bias, Global<float> y, int rows, int columns, int depth) {
  product_tile<Format>(xs, ws, x, long(rows) * depth, 0, depth, w, bias, y, rows, columns, depth);
}

KERNEL(linear_many_f32, Linear<float>) {
  SHARED(Float4, xs, TILE_FLOATS4);
  SHARED(Float4, ws, TILE_FLOATS4);
  linear_many<F32>(xs, ws, args.x, args.w, args.bias, args.y, args.rows, args.columns, args.depth);
}

KERNEL(linear_many_f16, Linear<unsigned short>) {
  SHARED(Float4, xs, TILE_FLOATS4);
  SHARED(Float4, ws, TILE_FLOATS4);
  linear_many<F16>(xs, ws, args.x, args.w, args.bias, args.y, args.rows, args.columns, args.depth);
}

KERNEL(linear_many_bf16, Linear<unsigned short>) {
  SHARED(Float4, xs, TILE_FLOATS4);
  SHARED(Float4, ws, TILE_FLOATS4);
  linear_many<Bf16>(xs, ws, args.x, args.w, args.bias, args.y, args.rows, args.columns, args.depth);
}

} // namespace gpu
} // namespace quern
