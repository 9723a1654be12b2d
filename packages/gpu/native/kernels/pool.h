// y[s] = the first row, the mean or the last row of rows bounds[s] … bounds[s + 1] − 1 of x. A block per sequence.
#pragma once
#include "../dialect/dialect.h"
#include "fault-code.h"

namespace quern {
namespace gpu {

struct Pool {
  Global<const float> x;    // [rows, width]
  Global<const int> bounds; // [blocks + 1]; cuSeqlens
  Global<float> y;          // [blocks, width]
  int rows, width;
  int by;            // 0 first row, 1 mean, 2 last row
  Global<int> fault; // [2]
  int op;
};

// All blocks together check that the bounds run from 0 to `rows`, and that every sequence has a row.
FUNCTION bool in_order(int first, int end, int rows) {
  const bool starts = block_index() == 0 ? first == 0 : first > 0;
  const bool ends = block_index() == grid_blocks() - 1 ? end == rows : end < rows;
  return starts && ends && first < end;
}

// A sum that keeps what its roundings lose, for sequences of thousands of rows (Ogita, Rump and Oishi 2005).
struct LongSum {
  float total, lost;

  FUNCTION void add(float x) {
    const float next = total + x, grown = next - total;
    lost += (total - (next - grown)) + (x - grown);
    total = next;
  }
  FUNCTION float value() const { return is_nan(lost) ? total : total + lost; } // lost is NaN if total is infinite
};

FUNCTION float mean_of(Global<const float> x, int count, int width) {
  LongSum sum{0, 0};
  for (int t = 0; t < count; t++) sum.add(x[int64_t(t) * width]);
  return sum.value() / float(count);
}

KERNEL(pool, Pool) {
  const int first = args.bounds[block_index()], end = args.bounds[block_index() + 1];
  if (!in_order(first, end, args.rows)) {
    if (thread_index() == 0) flag(args.fault, args.op, OUT_OF_RANGE);
    return;
  }
  const Global<const float> x = args.x + int64_t(args.by == 2 ? end - 1 : first) * args.width;
  const Global<float> y = args.y + int64_t(block_index()) * args.width;
  for (int i = thread_index(); i < args.width; i += block_threads())
    y[i] = args.by == 1 ? mean_of(x + i, end - first, args.width) : x[i];
}

} // namespace gpu
} // namespace quern
