// y = f(x), element by element, with any number of blocks and threads.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

// i % width for an i below n: 64-bit divisions are slow.
FUNCTION int64_t column_of(int64_t i, int64_t width, int64_t n) {
  if (n == width) return i;
  return n >> 31 ? i % width : int64_t(unsigned(i) % unsigned(width));
}

// Elements of a thread at a time. All are loaded before the first is stored: y may be x, so loads behind a store wait for it.
CONSTANT int EACH = 4;

// A thread's elements: first, first + block_threads(), …; then those `step` further on.
struct MapShare {
  int64_t first, step;
};
FUNCTION MapShare share_of_map() {
  const int64_t of_block = int64_t(EACH) * block_threads();
  return {block_index() * of_block + thread_index(), grid_blocks() * of_block};
}

// f: an object with operator().
template <class T, class U, class F>
FUNCTION void map(Global<const T> x, Global<U> y, int64_t n, F f) {
  const MapShare share = share_of_map();
  for (int64_t first = share.first; first < n; first += share.step) {
    T values[EACH] = {};
    UNROLL for (int j = 0; j < EACH; j++) {
      const int64_t i = first + int64_t(j) * block_threads();
      if (i < n) values[j] = x[i];
    }
    UNROLL for (int j = 0; j < EACH; j++) {
      const int64_t i = first + int64_t(j) * block_threads();
      if (i < n) y[i] = f(values[j]);
    }
  }
}

// The column `apart` elements on; apart: as column_of gives it. No division: it is called in loops.
FUNCTION int64_t column_after(int64_t column, int64_t apart, int64_t width) {
  const int64_t next = column + apart;
  return next >= width ? next - width : next;
}

// b: [b_count], once for all rows of a.
template <class F>
FUNCTION void map2(Global<const float> a, Global<const float> b, Global<float> y, int64_t n, int64_t b_count, F f) {
  const MapShare share = share_of_map();
  const int64_t next = column_of(block_threads(), b_count, n), step = column_of(share.step, b_count, n);
  int64_t start = column_of(share.first, b_count, n);
  for (int64_t first = share.first; first < n; first += share.step) {
    float of_a[EACH] = {}, of_b[EACH] = {};
    int64_t column = start;
    UNROLL for (int j = 0; j < EACH; j++) {
      const int64_t i = first + int64_t(j) * block_threads();
      if (i < n) of_a[j] = a[i], of_b[j] = b[column];
      column = column_after(column, next, b_count);
    }
    start = column_after(start, step, b_count);
    UNROLL for (int j = 0; j < EACH; j++) {
      const int64_t i = first + int64_t(j) * block_threads();
      if (i < n) y[i] = f(of_a[j], of_b[j]);
    }
  }
}

struct OneInput {
  Global<const float> x; // [n]
  Global<float> y;       // [n]
  int64_t n;
};

} // namespace gpu
} // namespace quern
