// y[t, p] = x[t, order[p]]: x in the order of columns that act-order gave a GPTQ matrix.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct PermuteColumns {
  Global<const float> x;   // [n / width, width]
  Global<const int> order; // [width]
  Global<float> y;         // [n / width, width]
  long n;
  int width;
};

KERNEL(permute_columns, PermuteColumns) {
  const long threads = long(grid_blocks()) * block_threads();
  for (long i = long(block_index()) * block_threads() + thread_index(); i < args.n; i += threads) {
    const long place = column_of(i, args.width, args.n);
    args.y[i] = args.x[i - place + args.order[place]];
  }
}

} // namespace gpu
} // namespace quern
