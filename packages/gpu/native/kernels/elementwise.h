// y = f(a, b), element by element. b may be one row for all rows of a.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct TwoInputs {
  Global<const float> a, b; // [n], [b_count]
  Global<float> y;          // [n]
  long n, b_count;
};

KERNEL(add, TwoInputs) {
  const long threads = long(grid_blocks()) * block_threads();
  for (long i = long(block_index()) * block_threads() + thread_index(); i < args.n; i += threads)
    args.y[i] = args.a[i] + args.b[column_of(i, args.b_count, args.n)];
}

KERNEL(mul, TwoInputs) {
  const long threads = long(grid_blocks()) * block_threads();
  for (long i = long(block_index()) * block_threads() + thread_index(); i < args.n; i += threads)
    args.y[i] = args.a[i] * args.b[column_of(i, args.b_count, args.n)];
}

} // namespace gpu
} // namespace quern
