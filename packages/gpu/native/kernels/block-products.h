// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for 1 to 8 rows of x and weights of blocks. A warp streams COLUMNS rows of w; a lane
// takes a group of 32 values of each, `parts` warps of a block share long rows. x goes through shared memory, two rows at a time:
// lanes would read it 128 bytes apart. Sums of quants are exact in f32 products; a scale multiplies them once per group. The order of sums depends on K and `parts` alone: the bits of a row do not depend on others.
#pragma once
#include "few-matrices.h"
#include "formats/every.h"
#include "gate-up.h"

#if !defined(STAGED_ROWS)
#define STAGED_ROWS 2 // of x that are in shared memory at a time
#endif

namespace quern {
namespace gpu {

CONSTANT int PRODUCT_WARPS = 4;
CONSTANT int PARTIAL_SUMS = PRODUCT_WARPS * WARP; // a warp has at most 32 sums
CONSTANT int GROUP_PITCH = GROUP / 4 + 1;         // Float4s from one group of x to the next; odd: lanes meet no bank twice
CONSTANT int STAGED_ROW = WARP * GROUP_PITCH;

// Rows of x that a warp has in shared memory, and Float4s of all warps.
template <int ROWS>
struct Staged {
  enum { rows = ROWS < STAGED_ROWS ? ROWS : STAGED_ROWS, of_warp = rows * STAGED_ROW, count = PRODUCT_WARPS * of_warp };
};

// x[at .. at + 4)
FUNCTION Float4 four_of(Global<const float> x, int64_t at, bool aligned) {
  if (aligned) return as<const Float4>(x + at)[0];
  return Float4{x[at], x[at + 1], x[at + 2], x[at + 3]};
}

// Groups of a row of x from `start` on, by the lanes of a warp; rows end at `depth`, and their last values stand in for missing ones.
// COUNT loads are under way before one is stored.
template <bool WIDE, int COUNT>
FUNCTION void stage_fours(Shared<Float4> to, Global<const float> row, int start, int depth) {
  UNROLL for (int first = 0; first < GROUP / 4; first += COUNT) {
    Float4 fours[COUNT];
    UNROLL for (int i = 0; i < COUNT; i++) {
      const int k = start * GROUP + ((first + i) * WARP + lane()) * 4;
      fours[i] = four_of(row, k < depth ? k : depth - 4, WIDE);
    }
    UNROLL for (int i = 0; i < COUNT; i++) {
      const int four = (first + i) * WARP + lane();
      to[four / (GROUP / 4) * GROUP_PITCH + four % (GROUP / 4)] = fours[i];
    }
  }
}

template <int COUNT>
FUNCTION void stage_row(Shared<Float4> to, Global<const float> row, int start, int depth) {
  if (aligned(row)) stage_fours<true, COUNT>(to, row, start, depth);
  else stage_fours<false, COUNT>(to, row, start, depth);
}

template <class Format, int ROWS, int COLUMNS>
struct GroupSums {
  float sums[ROWS][COLUMNS];
};

// A group of each column.
template <class Format, int COLUMNS>
struct Groups {
  Group<Format> of[COLUMNS];
};

// total + the groups times rows [row, row + COUNT) of x: groups of them in shared memory.
template <int COUNT, class Format, int ROWS, int COLUMNS>
FUNCTION GroupSums<Format, ROWS, COLUMNS> add_groups(GroupSums<Format, ROWS, COLUMNS> total, int row, Groups<Format, COLUMNS> groups,
                                                     Shared<Float4> x) {
  constexpr int HALF = GROUP / Format::HALVES;
  UNROLL for (int side = 0; side < Format::HALVES; side++) {
    float products[COUNT][COLUMNS] = {}, xs[COUNT] = {};
    UNROLL for (int four = 0; four < HALF; four += 4) {
      float quants[COLUMNS][4];
      UNROLL for (int c = 0; c < COLUMNS; c++)
        UNROLL for (int i = 0; i < 4; i++) quants[c][i] = quant_of(groups.of[c], side * HALF + four + i);
      UNROLL for (int t = 0; t < COUNT; t++) {
        const Float4 value = x[t * STAGED_ROW + (side * HALF + four) / 4];
        UNROLL for (int i = 0; i < 4; i++) {
          if (Format::MINS) xs[t] += value[i];
          UNROLL for (int c = 0; c < COLUMNS; c++) products[t][c] = fused(value[i], quants[c][i], products[t][c]);
        }
      }
    }
    UNROLL for (int t = 0; t < COUNT; t++)
      UNROLL for (int c = 0; c < COLUMNS; c++) {
        float sum = fused(groups.of[c].scale[side], products[t][c], total.sums[row + t][c]);
        if (Format::MINS) sum = fused(-groups.of[c].min[side], xs[t], sum);
        total.sums[row + t][c] = sum;
      }
  }
  return total;
}

// Rows first, first + 1, … of a weight as columns of the result; the last of `count` stands in for missing ones.
struct PlaneRows {
  Planes w;
  int64_t first;
  int count;
  FUNCTION Planes planes(int) const { return w; }
  FUNCTION int64_t row(int c) const { return first + (c < count ? c : count - 1); }
};

// PAIRS rows of gate, then the same rows of up.
template <int PAIRS>
struct PairedPlaneRows {
  Planes gate, up;
  int64_t first;
  int count;
  FUNCTION Planes planes(int c) const { return c < PAIRS ? gate : up; }
  FUNCTION int64_t row(int c) const { return first + (c % PAIRS < count ? c % PAIRS : count - 1); }
};

// COLUMNS rows of weights by `parts` warps, of which this is number `part`. The sum of row t and column c is in lane
// t · COLUMNS + c of part 0. All warps of the block take part if there are parts; w.count < 1: nothing is read. is_staged: x is where
// columns before have staged it.
template <class Format, int ROWS, int COLUMNS, class Rows>
FUNCTION float streamed_columns(Global<const float> x, Rows w, int rows, int depth, int part, int parts, Shared<Float4> staged,
                                Shared<float> partial, bool is_staged = false) {
  constexpr int COUNT = Staged<ROWS>::rows, LOADS = ROWS == 8 ? 2 : GROUP / 4 / COUNT;
  const Shared<Float4> of_warp = staged + warp() * Staged<ROWS>::of_warp;
  const int groups = depth / GROUP;
  GroupSums<Format, ROWS, COLUMNS> total = {};
  for (int start = part * WARP; start < groups && w.count > 0; start += parts * WARP) {
    const int g = start + lane();
    Groups<Format, COLUMNS> loaded = {};
    if (g < groups)
      UNROLL for (int c = 0; c < COLUMNS; c++)
        loaded.of[c] = load_group<Format>(w.planes(c), w.row(c) * groups + g);
    UNROLL for (int t = 0; t < ROWS; t += COUNT) {
      if (!is_staged) {
        warp_barrier(); // what was staged before has been read
        UNROLL for (int r = 0; r < COUNT; r++)
          stage_row<LOADS>(of_warp + r * STAGED_ROW, x + int64_t(t + r < rows ? t + r : rows - 1) * depth, start, depth);
        warp_barrier();
      }
      if (g < groups) total = add_groups<COUNT>(total, t, loaded, of_warp + lane() * GROUP_PITCH);
    }
  }
  LaneSums<ROWS * COLUMNS> all;
  UNROLL for (int t = 0; t < ROWS; t++)
    UNROLL for (int c = 0; c < COLUMNS; c++) all.of[t * COLUMNS + c] = total.sums[t][c];
  const float mine = warp_sums(all);
  if (parts == 1) return mine;
  barrier(); // the sums before have been read
  partial[thread_index()] = mine;
  barrier();
  float sum = 0;
  if (part == 0)
    for (int p = 0; p < parts; p++) sum += partial[thread_index() + p * WARP];
  return sum;
}

// Whether a warp stages all of its x at once, for all of its columns.
template <int ROWS>
FUNCTION bool stages_once(int depth, int parts) { return int(ROWS) <= int(Staged<ROWS>::rows) && depth / GROUP <= parts * WARP; }

// What a warp has to do: its part of the rows, and the first of its columns, before strides of the grid.
struct WarpShare {
  int part, first;
};

FUNCTION WarpShare share_of_warp(int parts, int columns) { return {warp() % parts, warp() / parts * columns}; }

// What a warp loads first, while launches before are not done: a group per lane of four rows. Eight lanes have the lines of a row.
template <class Format, class Rows>
FUNCTION void prefetch_groups(Rows w, int depth, int part) {
  constexpr int LOW = Format::LOW, HIGH = Format::HIGH > 0 ? Format::HIGH : 1, LINE = WARP; // words
  const int c = lane() / 8, line = lane() % 8, of_high = line - LOW, groups = depth / GROUP, start = part * WARP;
  if (w.count < 1 || start >= groups) return;
  const Planes planes = w.planes(c);
  const int64_t at = w.row(c) * groups + start;
  if (line < LOW && start + line * WARP / LOW < groups) prefetch(planes.low + (at * LOW + line * LINE));
  if (of_high >= 0 && of_high < Format::HIGH && start + of_high * WARP / HIGH < groups) prefetch(planes.high + (at * HIGH + of_high * LINE));
  if (line == 0) prefetch(planes.factors + at / Format::SPAN * Format::FACTORS);
  if (line == 1 && Format::SUBSCALES > 0) prefetch(planes.subscales + at * Format::SUBSCALES);
}

template <class Format>
FUNCTION void prefetch_streamed(ARGUMENTS const FewLinear<Planes>& args) {
  constexpr int COLUMNS = 4;
  const FewShare share = share_of_block(args);
  ARGUMENTS const FewMatrix<Planes>& matrix = args.matrices[share.matrix];
  const WarpShare mine = share_of_warp(args.parts, COLUMNS);
  const int first = share.block * (PRODUCT_WARPS / args.parts * COLUMNS) + mine.first;
  prefetch_groups<Format>(PlaneRows{matrix.w, first, matrix.columns - first}, args.depth, mine.part);
  prefetch_norm(args.of_y, first, matrix.columns);
}

template <class Format>
FUNCTION void prefetch_gated_blocks(ARGUMENTS const GateUp<Planes>& args) {
  constexpr int PAIRS = 2;
  const WarpShare mine = share_of_warp(args.parts, PAIRS);
  const int first = block_index() * (PRODUCT_WARPS / args.parts * PAIRS) + mine.first;
  prefetch_groups<Format>(PairedPlaneRows<PAIRS>{args.gate, args.up, first, args.columns - first}, args.depth, mine.part);
}

template <class Format, int ROWS, int COLUMNS>
FUNCTION void streamed_rows(Shared<Float4> staged, Shared<float> partial, Shared<float> norm_sums, ARGUMENTS const FewLinear<Planes>& args) {
  const FewShare share = share_of_block(args);
  ARGUMENTS const FewMatrix<Planes>& matrix = args.matrices[share.matrix];
  const int of_block = PRODUCT_WARPS / args.parts * COLUMNS, columns = matrix.columns;
  const WarpShare mine = share_of_warp(args.parts, COLUMNS);
  add_squares<ROWS>(args.of_x, args.rows, norm_sums);
  bool is_staged = false;
  for (int start = share.block * of_block; start < columns; start += share.blocks * of_block) {
    const int first = start + mine.first;
    const PlaneRows w = {matrix.w, first, columns - first};
    const float sum = streamed_columns<Format, ROWS, COLUMNS>(args.x, w, args.rows, args.depth, mine.part, args.parts,
                                                              staged, partial, is_staged);
    is_staged = stages_once<ROWS>(args.depth, args.parts);
    if (mine.part > 0) continue;
    const float factor = row_factor<ROWS>(args.of_x, lane() / COLUMNS, args.depth, norm_sums);
    const float square = put_sums<COLUMNS>(sum, factor, args.of_y, matrix, args.rows, first);
    put_squares<ROWS, COLUMNS>(square, args.of_y, args.rows, first, norm_sums);
  }
}

template <class Format, int ROWS>
FUNCTION void gated_blocks(Shared<Float4> staged, Shared<float> partial, Shared<float> norm_sums, ARGUMENTS const GateUp<Planes>& args) {
  constexpr int PAIRS = 2;
  const int of_block = PRODUCT_WARPS / args.parts * PAIRS;
  const WarpShare mine = share_of_warp(args.parts, PAIRS);
  add_squares<ROWS>(args.of_x, args.rows, norm_sums);
  bool is_staged = false;
  for (int start = block_index() * of_block; start < args.columns; start += grid_blocks() * of_block) {
    const int first = start + mine.first;
    const PairedPlaneRows<PAIRS> w = {args.gate, args.up, first, args.columns - first};
    const float sum = streamed_columns<Format, ROWS, 2 * PAIRS>(args.x, w, args.rows, args.depth, mine.part, args.parts,
                                                                staged, partial, is_staged);
    is_staged = stages_once<ROWS>(args.depth, args.parts);
    if (mine.part > 0) continue;
    const float factor = row_factor<ROWS>(args.of_x, lane() / (2 * PAIRS), args.depth, norm_sums);
    put_gated<PAIRS>(sum * factor, args.y, args.rows, args.columns, first);
  }
}

// Blocks that have room on a processor of NVIDIA, by the number of rows: the compiler would take more registers. With one more, some
// formats spill. Eight rows take what they need.
template <class Format>
struct FewBlocks {
  enum {
    bits = Format::LOW + Format::HIGH,
    halves_of_bytes = bits == 8 && Format::HALVES == 2,
    gated_1 = bits >= 3 && bits <= 5 ? 7 : 6,
    linear_1 = halves_of_bytes ? 5 : Format::INTEGERS && !(Format::MINS && bits == 5) ? gated_1 : 6,
    gated_2 = Format::INTEGERS ? 4 : 3,
    linear_2 = (Format::MINS && bits == 5) || (!Format::INTEGERS && Format::SUBSCALES > 0) ? gated_2 - 1 : gated_2,
    of_4 = 3
  };
};

#define BLOCKS_FEW_1(kind, Format, name, Args) KERNEL_AHEAD_OF(name, Args, 128, ROOM_FOR(FewBlocks<Format>::kind##_1))
#define BLOCKS_FEW_2(kind, Format, name, Args) KERNEL_AHEAD_OF(name, Args, 128, ROOM_FOR(FewBlocks<Format>::kind##_2))
#define BLOCKS_FEW_4(kind, Format, name, Args) KERNEL_AHEAD_OF(name, Args, 128, ROOM_FOR(FewBlocks<Format>::of_4))
#define BLOCKS_FEW_8(kind, Format, name, Args) KERNEL_AHEAD(name, Args)
#define BLOCKS_FEW_ROWS(Format, name, rows)                                          \
  BLOCKS_FEW_##rows(linear, Format, linear_few_##rows##_##name, FewLinear<Planes>) { \
    SHARED(Float4, staged, Staged<rows>::count);                                     \
    SHARED(float, partial, PARTIAL_SUMS);                                            \
    SHARED(float, norm_sums, NORM_SUMS);                                             \
    prefetch_streamed<Format>(args);                                                 \
    previous_launches_done();                                                        \
    streamed_rows<Format, rows, 4>(staged, partial, norm_sums, args);                \
  }                                                                                  \
  BLOCKS_FEW_##rows(gated, Format, gate_up_few_##rows##_##name, GateUp<Planes>) {    \
    SHARED(Float4, staged, Staged<rows>::count);                                     \
    SHARED(float, partial, PARTIAL_SUMS);                                            \
    SHARED(float, norm_sums, NORM_SUMS);                                             \
    prefetch_gated_blocks<Format>(args);                                             \
    previous_launches_done();                                                        \
    gated_blocks<Format, rows>(staged, partial, norm_sums, args);                    \
  }
#define BLOCKS_FEW(Format, name) EVERY_FEW_ROWS(BLOCKS_FEW_ROWS, Format, name)
EVERY_BLOCK_FORMAT(BLOCKS_FEW)
#undef BLOCKS_FEW
#undef BLOCKS_FEW_ROWS
#undef BLOCKS_FEW_1
#undef BLOCKS_FEW_2
#undef BLOCKS_FEW_4
#undef BLOCKS_FEW_8

} // namespace gpu
} // namespace quern
