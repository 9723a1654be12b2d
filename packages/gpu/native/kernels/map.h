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

// Elements of a thread at a time. All are loaded before the first is stored: y may be x, so loads behind a store wait for it.
CONSTANT int EACH = 4;

// A thread's elements: first, first + block_threads(), …; then those `step` further on.
struct MapShare {
  long first, step;
};
FUNCTION MapShare share_of_map() {
  const long of_block = long(EACH) * block_threads();
  return {block_index() * of_block + thread_index(), grid_blocks() * of_block};
}

// f: an object with operator().
template <class T, class U, class F>
FUNCTION void map(Global<const T> x, Global<U> y, long n, F f) {
  const MapShare share = share_of_map();
  for (long first = share.first; first < n; first += share.step) {
    T values[EACH] = {};
    UNROLL for (int j = 0; j < EACH; j++) {
      const long i = first + long(j) * block_threads();
      if (i < n) values[j] = x[i];
    }
    UNROLL for (int j = 0; j < EACH; j++) {
      const long i = first + long(j) * block_threads();
      if (i < n) y[i] = f(values[j]);
    }
  }
}

// The column `apart` elements on; apart: as column_of gives it. No division: it is called in loops.
FUNCTION long column_after(long column, long apart, long width) {
  const long next = column + apart;
  return next >= width ? next - width : next;
}

// b: [b_count], once for all rows of a.
template <class F>
FUNCTION void map2(Global<const float> a, Global<const float> b, Global<float> y, long n, long b_count, F f) {
  const MapShare share = share_of_map();
  const long next = column_of(block_threads(), b_count, n), step = column_of(share.step, b_count, n);
  long start = column_of(share.first, b_count, n);
  for (long first = share.first; first < n; first += share.step) {
    float of_a[EACH] = {}, of_b[EACH] = {};
    long column = start;
    UNROLL for (int j = 0; j < EACH; j++) {
      const long i = first + long(j) * block_threads();
      if (i < n) of_a[j] = a[i], of_b[j] = b[column];
      column = column_after(column, next, b_count);
    }
    start = column_after(start, step, b_count);
    UNROLL for (int j = 0; j < EACH; j++) {
      const long i = first + long(j) * block_threads();
      if (i < n) y[i] = f(of_a[j], of_b[j]);
    }
  }
}

struct OneInput {
  Global<const float> x; // [n]
  Global<float> y;       // [n]
  long n;
};

} // namespace gpu
} // namespace quern
