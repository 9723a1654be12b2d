// y[t, p] = x[t, order[p]]: x in the order of columns that act-order gave a GPTQ matrix.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct PermuteColumns {
  Global<const float> x;   // [n / width, width]
  Global<const int> order; // [width]
  Global<float> y;         // [n / width, width]
  int64_t n;
  int width;
};

KERNEL(permute_columns, PermuteColumns) {
  const int64_t threads = int64_t(grid_blocks()) * block_threads();
  for (int64_t i = int64_t(block_index()) * block_threads() + thread_index(); i < args.n; i += threads) {
    const int64_t place = column_of(i, args.width, args.n);
    args.y[i] = args.x[i - place + args.order[place]];
  }
}

} // namespace gpu
} // namespace quern
