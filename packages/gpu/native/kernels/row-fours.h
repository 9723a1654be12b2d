// Rows by the threads of a block: a thread takes fours of neighbouring elements, block_threads() fours apart. Those of the first
// row_step() elements stay in its registers.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

CONSTANT int ROW_FOURS = 2; // of a thread: rows of up to 8192 elements are read once by 1024 threads

struct RowFours {
  float values[4 * ROW_FOURS];
};

// Elements that the threads of a block hold together.
FUNCTION int row_step() { return 4 * ROW_FOURS * block_threads(); }

// Where element i of a thread is; the elements of the threads begin at `first`.
FUNCTION int row_place(int first, int i) { return first + (i / 4 * block_threads() + thread_index()) * 4 + i % 4; }

// Whether a row can be read and written 16 bytes at a time.
FUNCTION bool row_is_wide(Global<const float> x, int width) { return width % 4 == 0 && aligned(x); }

// Weights of a row into the second cache, while launches before are not done: a line of 128 bytes per thread.
FUNCTION void prefetch_row(Global<const float> w, int width) {
  constexpr int LINE = 128 / int(sizeof(float));
  for (int i = thread_index() * LINE; i < width; i += block_threads() * LINE) prefetch(w + i);
}

// Elements [first, first + row_step()) of a row; 0 from `width` on. All loads are under way before one is used.
FUNCTION RowFours row_fours(Global<const float> x, int first, int width) {
  RowFours held = {};
  if (row_is_wide(x, width)) {
    UNROLL for (int four = 0; four < ROW_FOURS; four++) {
      const int at = row_place(first, 4 * four);
      if (at >= width) continue;
      const Float4 values = as<const Float4>(x + at)[0];
      UNROLL for (int i = 0; i < 4; i++) held.values[4 * four + i] = values[i];
    }
  } else {
    UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++)
      if (row_place(first, i) < width) held.values[i] = x[row_place(first, i)];
  }
  return held;
}

FUNCTION void put_row_fours(Global<float> y, RowFours held, int first, int width) {
  if (row_is_wide(y, width)) {
    UNROLL for (int four = 0; four < ROW_FOURS; four++) {
      const int i = 4 * four, at = row_place(first, i);
      if (at < width) as<Float4>(y + at)[0] = Float4{held.values[i], held.values[i + 1], held.values[i + 2], held.values[i + 3]};
    }
  } else {
    UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++)
      if (row_place(first, i) < width) y[row_place(first, i)] = held.values[i];
  }
}

FUNCTION RowFours sum_of_fours(RowFours a, RowFours b) {
  UNROLL for (int i = 0; i < 4 * ROW_FOURS; i++) a.values[i] += b.values[i];
  return a;
}

} // namespace gpu
} // namespace quern
