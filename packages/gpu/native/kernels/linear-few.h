// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for 1 to 8 rows of x, of up to three matrices. Streams w: a warp has 1, 2 or 4 columns, a lane
// loads 16 bytes of each. A lane adds in ascending order of k, then lanes are added: the bits of a row depend neither on other rows
// nor on alignment nor on the other matrices.
#pragma once
#include "few-matrices.h"
#include "formats/every.h"
#include "gate-up.h"

namespace quern {
namespace gpu {

// Rows of matrices, one for each column of a warp.
template <class Format, int COLUMNS>
struct Streams {
  Global<const typename Format::Stored> of[COLUMNS];
};

// Rows first, first + 1, … of w; the last one stands in for missing ones.
template <class Format, int COLUMNS>
FUNCTION Streams<Format, COLUMNS> streams_from(Dense<Format> w, int first, int columns, int depth) {
  Streams<Format, COLUMNS> streams;
  UNROLL for (int c = 0; c < COLUMNS; c++) streams.of[c] = w.values + int64_t(first + c < columns ? first + c : columns - 1) * depth;
  return streams;
}

template <class Format, int COLUMNS>
FUNCTION bool loads_wide(Streams<Format, COLUMNS> w, int depth) {
  bool wide = depth % Wide<Format>::count == 0;
  UNROLL for (int c = 0; c < COLUMNS; c++) wide = wide && aligned(w.of[c]);
  return wide;
}

// By one warp: the sum of row t and column c in lane t · COLUMNS + c. A lane takes 16 bytes of each column, STRIDE apart; STEPS of them
// are loaded ahead.
template <class Format, int ROWS, int COLUMNS, int STEPS>
FUNCTION float few_columns(Global<const float> x, Streams<Format, COLUMNS> w, int rows, int depth) {
  using Loaded = typename Wide<Format>::Loaded;
  constexpr int WIDE = Wide<Format>::count, STRIDE = WARP * WIDE;
  int row[ROWS]; // where they begin; the last one stands in for missing ones
  UNROLL for (int t = 0; t < ROWS; t++) row[t] = (t < rows ? t : rows - 1) * depth;
  float sums[ROWS][COLUMNS] = {};

  const int start = lane() * WIDE;
  if (aligned(x) && loads_wide(w, depth)) {
    Loaded ahead[STEPS][COLUMNS] = {};
    UNROLL for (int s = 0; s < STEPS; s++) {
      const int k = start + s * STRIDE;
      UNROLL for (int c = 0; c < COLUMNS; c++)
        if (k < depth) ahead[s][c] = as<const Loaded>(w.of[c] + k)[0];
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
          if (later < depth) ahead[s][c] = as<const Loaded>(w.of[c] + later)[0];
      }
  } else {
    for (int group = start; group < depth; group += STRIDE)
      for (int k = group; k < group + WIDE && k < depth; k++)
        UNROLL for (int t = 0; t < ROWS; t++)
          UNROLL for (int c = 0; c < COLUMNS; c++)
            sums[t][c] = fused(x[row[t] + k], Format::value(w.of[c][k]), sums[t][c]);
  }

  LaneSums<ROWS * COLUMNS> all;
  UNROLL for (int t = 0; t < ROWS; t++)
    UNROLL for (int c = 0; c < COLUMNS; c++) all.of[t * COLUMNS + c] = sums[t][c];
  return warp_sums(all);
}

// Columns of a warp for up to ROWS rows, and loads ahead of each.
template <int ROWS>
struct FewShape {
  enum { columns = ROWS == 1 ? 1 : ROWS == 8 ? 4 : 2, steps = ROWS == 1 ? 8 : ROWS == 8 ? 1 : 4 };
};

// All columns of a matrix, by the warps of its blocks. A warp's x comes from the cache: more rows want more columns to share it.
template <class Format, int ROWS>
FUNCTION void few_rows(Shared<float> norm_sums, ARGUMENTS const FewLinear<Dense<Format>>& args) {
  constexpr int COLUMNS = FewShape<ROWS>::columns, STEPS = FewShape<ROWS>::steps;
  const FewShare share = share_of_block(args);
  const FewMatrix<Dense<Format>> matrix = matrix_of(args, share);
  const int of_block = block_threads() / WARP * COLUMNS;
  add_squares<ROWS>(args.of_x, args.rows, norm_sums);
  for (int start = share.block * of_block; start < matrix.columns; start += share.blocks * of_block) {
    const int n = start + warp() * COLUMNS;
    float sum = 0;
    if (n < matrix.columns) {
      const Streams<Format, COLUMNS> w = streams_from<Format, COLUMNS>(matrix.w, n, matrix.columns, args.depth);
      sum = few_columns<Format, ROWS, COLUMNS, STEPS>(args.x, w, args.rows, args.depth);
    }
    const float factor = row_factor<ROWS>(args.of_x, lane() / COLUMNS, args.depth, norm_sums);
    const float square = put_sums<COLUMNS>(sum, factor, args.of_y, matrix, args.rows, n);
    put_squares<ROWS, COLUMNS>(square, args.of_y, args.rows, n, norm_sums);
  }
}

// PAIRS of columns: of gate, then the same of up.
template <class Format, int PAIRS>
FUNCTION Streams<Format, 2 * PAIRS> paired_streams(Dense<Format> gate, Dense<Format> up, int first, int columns, int depth) {
  const Streams<Format, PAIRS> gates = streams_from<Format, PAIRS>(gate, first, columns, depth);
  const Streams<Format, PAIRS> ups = streams_from<Format, PAIRS>(up, first, columns, depth);
  Streams<Format, 2 * PAIRS> both;
  UNROLL for (int c = 0; c < PAIRS; c++) both.of[c] = gates.of[c], both.of[PAIRS + c] = ups.of[c];
  return both;
}

template <int ROWS>
struct GatedShape {
  enum { pairs = ROWS == 8 ? 2 : 1, steps = ROWS == 8 ? 1 : 4 };
};

template <class Format, int ROWS>
FUNCTION void gated_rows(Shared<float> norm_sums, ARGUMENTS const GateUp<Dense<Format>>& args) {
  constexpr int PAIRS = GatedShape<ROWS>::pairs, STEPS = GatedShape<ROWS>::steps;
  const int warps = block_threads() / WARP;
  add_squares<ROWS>(args.of_x, args.rows, norm_sums);
  for (int n = (block_index() * warps + warp()) * PAIRS; n < args.columns; n += grid_blocks() * warps * PAIRS) {
    const Streams<Format, 2 * PAIRS> w = paired_streams<Format, PAIRS>(args.gate, args.up, n, args.columns, args.depth);
    const float sum = few_columns<Format, ROWS, 2 * PAIRS, STEPS>(args.x, w, args.rows, args.depth);
    const float factor = row_factor<ROWS>(args.of_x, lane() / (2 * PAIRS), args.depth, norm_sums);
    put_gated<PAIRS>(sum * factor, args.y, args.rows, args.columns, n);
  }
}

// The first bytes of the warp's columns, a line of 128 per lane: while launches before are not done.
template <class Format, int ROWS>
FUNCTION void prefetch_few(ARGUMENTS const FewLinear<Dense<Format>>& args) {
  constexpr int LINE = 128 / int(sizeof(typename Format::Stored));
  const FewShare share = share_of_block(args);
  const FewMatrix<Dense<Format>> matrix = matrix_of(args, share);
  const int64_t column = (int64_t(share.block) * (block_threads() / WARP) + warp()) * FewShape<ROWS>::columns;
  const int64_t first = column * args.depth + lane() * LINE;
  if (first < int64_t(matrix.columns) * args.depth) prefetch(matrix.w.values + first);
  prefetch_norm(args.of_y, int(column), matrix.columns);
}

// The same of both matrices.
template <class Format, int ROWS>
FUNCTION void prefetch_gated(ARGUMENTS const GateUp<Dense<Format>>& args) {
  constexpr int LINE = 128 / int(sizeof(typename Format::Stored)), HALF = WARP / 2;
  const int64_t column = (int64_t(block_index()) * (block_threads() / WARP) + warp()) * GatedShape<ROWS>::pairs;
  const int64_t first = column * args.depth + lane() % HALF * LINE;
  if (first < int64_t(args.columns) * args.depth) prefetch((lane() < HALF ? args.gate : args.up).values + first);
}

// Blocks that have room on a processor of NVIDIA, of one row: the compiler would take more registers. f32 spills with one more.
template <class Format>
struct GatedBlocks {
  enum { of_1 = sizeof(typename Format::Stored) == 4 ? 8 : 9 };
};

#define GATED_FEW_1(Format, name, Args) KERNEL_AHEAD_OF(name, Args, 128, ROOM_FOR(GatedBlocks<Format>::of_1))
#define GATED_FEW_2(Format, name, Args) KERNEL_AHEAD(name, Args)
#define GATED_FEW_4(Format, name, Args) KERNEL_AHEAD(name, Args)
#define GATED_FEW_8(Format, name, Args) KERNEL_AHEAD(name, Args)
#define DENSE_FEW_ROWS(Format, name, rows)                                       \
  KERNEL_AHEAD(linear_few_##rows##_##name, FewLinear<Dense<Format>>) {           \
    SHARED(float, norm_sums, NORM_SUMS);                                         \
    prefetch_few<Format, rows>(args);                                            \
    previous_launches_done();                                                    \
    few_rows<Format, rows>(norm_sums, args);                                     \
  }                                                                              \
  GATED_FEW_##rows(Format, gate_up_few_##rows##_##name, GateUp<Dense<Format>>) { \
    SHARED(float, norm_sums, NORM_SUMS);                                         \
    prefetch_gated<Format, rows>(args);                                          \
    previous_launches_done();                                                    \
    gated_rows<Format, rows>(norm_sums, args);                                   \
  }
#define DENSE_FEW(Format, name) EVERY_FEW_ROWS(DENSE_FEW_ROWS, Format, name)
EVERY_DENSE_FORMAT(DENSE_FEW)
#undef DENSE_FEW
#undef DENSE_FEW_ROWS
#undef GATED_FEW_1
#undef GATED_FEW_2
#undef GATED_FEW_4
#undef GATED_FEW_8

} // namespace gpu
} // namespace quern
