// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for 1 to 8 rows of x. Streams w: a warp has 1, 2 or 4 columns, a lane loads 16 bytes
// of each. A lane adds in ascending order of k, then lanes are added: the bits of a row depend neither on other rows nor on
// alignment.
#pragma once
#include "block-sum.h"
#include "formats/every.h"

namespace quern {
namespace gpu {

// Columns from `first` on, by one warp. A lane takes 16 bytes of each column, STRIDE apart; STEPS of them are loaded ahead.
template <class Format, int ROWS, int COLUMNS, int STEPS>
FUNCTION void few_columns(Global<const float> x, Global<const typename Format::Stored> weights, Global<const float> bias,
                          Global<float> y, int rows, int columns, int depth, int first) {
  using Loaded = typename Wide<Format>::Loaded;
  constexpr int WIDE = Wide<Format>::count, STRIDE = WARP * WIDE;
  const Global<const typename Format::Stored> w = weights + long(first) * depth;
  int row[ROWS], column[COLUMNS]; // where they begin; the last one stands in for missing ones
  UNROLL for (int t = 0; t < ROWS; t++) row[t] = (t < rows ? t : rows - 1) * depth;
  UNROLL for (int c = 0; c < COLUMNS; c++) column[c] = (first + c < columns ? c : columns - 1 - first) * depth;
  float sums[ROWS][COLUMNS] = {};

  const int start = lane() * WIDE;
  if (depth % WIDE == 0 && aligned(x) && aligned(weights)) {
    Loaded ahead[STEPS][COLUMNS] = {};
    UNROLL for (int s = 0; s < STEPS; s++) {
      const int k = start + s * STRIDE;
      UNROLL for (int c = 0; c < COLUMNS; c++)
        if (k < depth) ahead[s][c] = as<const Loaded>(w + (column[c] + k))[0];
    }
    for (int group = start; group < depth; group += STEPS * STRIDE)
      UNROLL for (int s = 0; s < STEPS; s++) {
        const int k = group + s * STRIDE, later = k + STEPS * STRIDE;
        if (k >= depth) break;
        UNROLL for (int four = 0; four < WIDE; four += 4)
          UNROLL for (int t = 0; t < ROWS; t++) {
            const Float4 values = as<const Float4>(x + (row[t] + k + four))[0];
            UNROLL for (int c = 0; c < COLUMNS; c++)
              UNROLL for (int i = 0; i < 4; i++)
                sums[t][c] = fused(values[i], Wide<Format>::value(ahead[s][c], four + i), sums[t][c]);
          }
        UNROLL for (int c = 0; c < COLUMNS; c++)
          if (later < depth) ahead[s][c] = as<const Loaded>(w + (column[c] + later))[0];
      }
  } else {
    for (int group = start; group < depth; group += STRIDE)
      for (int k = group; k < group + WIDE && k < depth; k++)
        UNROLL for (int t = 0; t < ROWS; t++)
          UNROLL for (int c = 0; c < COLUMNS; c++)
            sums[t][c] = fused(x[row[t] + k], Format::value(w[column[c] + k]), sums[t][c]);
  }

  float mine = 0; // lane t · COLUMNS + c writes row t of column c
  UNROLL for (int t = 0; t < ROWS; t++)
    UNROLL for (int c = 0; c < COLUMNS; c++) {
      const float sum = warp_sum(sums[t][c]);
      if (lane() == t * COLUMNS + c) mine = sum;
    }
  const int t = lane() / COLUMNS, n = first + lane() % COLUMNS;
  if (t < rows && n < columns) y[long(t) * columns + n] = bias ? mine + bias[n] : mine;
}

// All columns, by the warps of the grid. A warp's x comes from the cache: more rows want more columns to share it.
template <class Format, int ROWS, int COLUMNS, int STEPS>
FUNCTION void few_rows(Global<const float> x, Global<const typename Format::Stored> w, Global<const float> bias, Global<float> y,
                       int rows, int columns, int depth) {
  const int warps = block_threads() / WARP;
  for (int n = (block_index() * warps + warp()) * COLUMNS; n < columns; n += grid_blocks() * warps * COLUMNS)
    few_columns<Format, ROWS, COLUMNS, STEPS>(x, w, bias, y, rows, columns, depth, n);
}

template <class Format>
FUNCTION void linear_few(Global<const float> x, Global<const typename Format::Stored> w, Global<const float> bias, Global<float> y,
                         int rows, int columns, int depth) {
  if (rows == 1) few_rows<Format, 1, 1, 8>(x, w, bias, y, rows, columns, depth);
  else if (rows == 2) few_rows<Format, 2, 2, 4>(x, w, bias, y, rows, columns, depth);
  else if (rows <= 4) few_rows<Format, 4, 2, 4>(x, w, bias, y, rows, columns, depth);
  else few_rows<Format, 8, 4, 1>(x, w, bias, y, rows, columns, depth);
}

// The first bytes of the warp's columns, a line of 128 per lane: while launches before are not done.
template <class Stored>
FUNCTION void prefetch_few(Global<const Stored> w, int rows, int columns, int depth) {
  constexpr int LINE = 128 / int(sizeof(Stored));
  const long own = rows == 1 ? 1 : rows <= 4 ? 2 : 4; // columns, as few_rows has them
  const long first = (long(block_index()) * (block_threads() / WARP) + warp()) * own * depth + lane() * LINE;
  if (first < long(columns) * depth) prefetch(w + first);
}

#define LINEAR_FEW(Format, name)                                                                        \
  KERNEL_AHEAD(linear_few_##name, Linear<Dense<Format>>) {                                              \
    prefetch_few(args.w.values, args.rows, args.columns, args.depth);                                   \
    previous_launches_done();                                                                           \
    linear_few<Format>(args.x, args.w.values, args.bias, args.y, args.rows, args.columns, args.depth);  \
  }
EVERY_DENSE_FORMAT(LINEAR_FEW)
#undef LINEAR_FEW

} // namespace gpu
} // namespace quern
