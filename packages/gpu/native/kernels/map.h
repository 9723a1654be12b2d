// y = f(x), element by element, with any number of blocks and threads.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

// i % width for an i below n: 64-bit divisions are slow.
FUNCTION long column_of(long i, long width, long n) {
  if (n == width) return i;
  return n >> 31 ? i % width : long(unsigned(i) % unsigned(width));
}

// X and Y: Global pointers. f: an object with operator().
template <class X, class Y, class F>
FUNCTION void map(X x, Y y, long n, F f) {
  const long threads = long(grid_blocks()) * block_threads();
  for (long i = long(block_index()) * block_threads() + thread_index(); i < n; i += threads) y[i] = f(x[i]);
}

template <class F>
FUNCTION void map2(Global<const float> a, Global<const float> b, Global<float> y, long n, F f) {
  const long threads = long(grid_blocks()) * block_threads();
  for (long i = long(block_index()) * block_threads() + thread_index(); i < n; i += threads) y[i] = f(a[i], b[i]);
}

struct OneInput {
  Global<const float> x; // [n]
  Global<float> y;       // [n]
  long n;
};

} // namespace gpu
} // namespace quern
