// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for 1 to 8 rows of x and weights of blocks. A warp streams COLUMNS rows of w; a lane
// takes a group of 32 values of each, `parts` warps of a block share long rows. Sums of quants are exact in f32 products; a scale
// multiplies them once per group. The order of sums depends on K and `parts` alone: the bits of a row do not depend on others.
#pragma once
#include "block-sum.h"
#include "fault-code.h"
#include "formats/every.h"

namespace quern {
namespace gpu {

struct BlockLinear {
  Global<const float> x;    // [rows, depth]
  Planes w;                 // [columns, depth]
  Global<const float> bias; // [columns], or null
  Global<float> y;          // [rows, columns]
  int rows, columns, depth;
  int parts;                // warps that share a row of w: 1, 2, 4
};

constexpr int PRODUCT_WARPS = 4;
constexpr int PARTIAL_SUMS = PRODUCT_WARPS * WARP; // a warp has at most 32 sums

// x[at .. at + 4)
FUNCTION Float4 four_of(Global<const float> x, long at, bool aligned) {
  if (aligned) return as<const Float4>(x + at)[0];
  return Float4{x[at], x[at + 1], x[at + 2], x[at + 3]};
}

template <class Format, int ROWS, int COLUMNS>
struct GroupSums {
  float sums[ROWS][COLUMNS];
};

// total + a group of each column times x from k on. `at`: the group in the first column.
template <class Format, int ROWS, int COLUMNS>
FUNCTION GroupSums<Format, ROWS, COLUMNS> add_group(GroupSums<Format, ROWS, COLUMNS> total, Global<const float> x, bool wide,
                                                    int rows, int depth, int k, Planes w, long at, int groups, int columns) {
  constexpr int HALF = GROUP / Format::HALVES;
  Group<Format> group[COLUMNS];
  UNROLL for (int c = 0; c < COLUMNS; c++) group[c] = load_group<Format>(w, at + long(c < columns ? c : columns - 1) * groups);
  UNROLL for (int half = 0; half < Format::HALVES; half++) {
    float products[ROWS][COLUMNS] = {}, xs[ROWS] = {};
    UNROLL for (int four = 0; four < HALF; four += 4) {
      float quants[COLUMNS][4];
      UNROLL for (int c = 0; c < COLUMNS; c++)
        UNROLL for (int i = 0; i < 4; i++) quants[c][i] = quant_of(group[c], half * HALF + four + i);
      UNROLL for (int t = 0; t < ROWS; t++) {
        const Float4 value = four_of(x, long(t < rows ? t : rows - 1) * depth + k + half * HALF + four, wide);
        UNROLL for (int i = 0; i < 4; i++) {
          if (Format::MINS) xs[t] += value[i];
          UNROLL for (int c = 0; c < COLUMNS; c++) products[t][c] = fused(value[i], quants[c][i], products[t][c]);
        }
      }
    }
    UNROLL for (int t = 0; t < ROWS; t++)
      UNROLL for (int c = 0; c < COLUMNS; c++) {
        total.sums[t][c] = fused(group[c].scale[half], products[t][c], total.sums[t][c]);
        if (Format::MINS) total.sums[t][c] = fused(-group[c].min[half], xs[t], total.sums[t][c]);
      }
  }
  return total;
}

// Columns [first, first + COLUMNS) of w by `parts` warps, of which this is number `part`. The sum of row t and column c is in lane
// t · COLUMNS + c of part 0. All warps of the block take part; first ≥ columns: nothing is read.
template <class Format, int ROWS, int COLUMNS>
FUNCTION float streamed_columns(Global<const float> x, Planes w, int rows, long row_of_w, int columns, int depth, int part,
                                int parts, Shared<float> partial) {
  const int groups = depth / GROUP;
  const bool wide = aligned(x);
  GroupSums<Format, ROWS, COLUMNS> total = {};
  if (columns > 0)
    for (int g = part * WARP + lane(); g < groups; g += parts * WARP)
      total = add_group<Format, ROWS, COLUMNS>(total, x, wide, rows, depth, g * GROUP, w, row_of_w * groups + g, groups, columns);
  float mine = 0;
  UNROLL for (int t = 0; t < ROWS; t++)
    UNROLL for (int c = 0; c < COLUMNS; c++) {
      const float sum = warp_sum(total.sums[t][c]);
      if (lane() == t * COLUMNS + c) mine = sum;
    }
  if (parts == 1) return mine;
  barrier(); // the sums before have been read
  partial[thread_index()] = mine;
  barrier();
  float sum = 0;
  if (part == 0)
    for (int p = 0; p < parts; p++) sum += partial[thread_index() + p * WARP];
  return sum;
}

template <class Format, int ROWS, int COLUMNS>
FUNCTION void streamed_rows(Shared<float> partial, BlockLinear args) {
  const int of_block = PRODUCT_WARPS / args.parts * COLUMNS; // columns
  const int part = warp() % args.parts, mine = warp() / args.parts * COLUMNS;
  for (int start = block_index() * of_block; start < args.columns; start += grid_blocks() * of_block) {
    const int first = start + mine;
    const float sum = streamed_columns<Format, ROWS, COLUMNS>(args.x, args.w, args.rows, first, args.columns - first, args.depth,
                                                              part, args.parts, partial);
    const int t = lane() / COLUMNS, n = first + lane() % COLUMNS;
    if (part == 0 && t < args.rows && n < args.columns)
      args.y[long(t) * args.columns + n] = args.bias ? sum + args.bias[n] : sum;
  }
}

template <class Format>
FUNCTION void streamed_product(Shared<float> partial, BlockLinear args) {
  if (args.rows == 1) streamed_rows<Format, 1, 4>(partial, args);
  else if (args.rows == 2) streamed_rows<Format, 2, 4>(partial, args);
  else if (args.rows <= 4) streamed_rows<Format, 4, 4>(partial, args);
  else streamed_rows<Format, 8, 2>(partial, args); // 4 columns would take more than 255 registers
}

#define LINEAR_FEW(Format, name)            \
  KERNEL(linear_few_##name, BlockLinear) {  \
    SHARED(float, partial, PARTIAL_SUMS);   \
    streamed_product<Format>(partial, args); \
  }
EVERY_BLOCK_FORMAT(LINEAR_FEW)
#undef LINEAR_FEW

} // namespace gpu
} // namespace quern
