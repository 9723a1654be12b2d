// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for any number of rows of x.
#pragma once
#include "formats/every.h"
#include "product-tiles.h"

namespace quern {
namespace gpu {

#define LINEAR_MANY(Weights, name)                                                                                               \
  KERNEL(linear_many_##name, Linear<Weights>) {                                                                                  \
    SHARED(Float4, xs, TILE_FLOATS4);                                                                                            \
    SHARED(Float4, ws, TILE_FLOATS4);                                                                                            \
    product_tile(xs, ws, args.x, long(args.rows) * args.depth, 0, args.depth, args.w, args.bias, args.y, args.rows, args.columns, \
                 args.depth);                                                                                                    \
  }
EVERY_WEIGHT(LINEAR_MANY)
#undef LINEAR_MANY

} // namespace gpu
} // namespace quern
