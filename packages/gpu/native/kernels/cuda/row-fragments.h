// Around the products of linear-rows.h: their shape and arguments, x as fragments of tensor cores, and sums over parts of K.
#pragma once
#include "../../dialect/packed.h"
#include "../activations.h"
#include "../few-matrices.h"

namespace quern {
namespace gpu {

constexpr int ROW_EIGHTS = 4, ROW_COLUMNS = ROW_EIGHTS * 8; // of a warp, in 8 columns

// How the warps of a block share its product. x of 64 rows has more bytes than w: four warps share it. `blocks` fit on a processor.
template <int DOWN>
struct RowBlock {
  enum {
    across = DOWN < 4 ? 2 : 4,
    ways = DOWN == 1 ? 4 : DOWN == 2 ? 3 : 2,
    columns = across * ROW_COLUMNS,
    threads = across * ways * WARP,
    blocks = DOWN < 4 ? 2 : 1,
    sums = DOWN * ROW_EIGHTS * 4 // of a lane
  };
};

// Steps of 32 of k in a chunk: what a lane loads of a row at a time. A format of blocks has `low` bits in its plane of low bits.
constexpr int DENSE_STEPS = 1;
constexpr int steps_of_blocks(int low) { return low == 8 ? 2 : 4; }

// x in bf16, rounded to nearest. A step has 32 of k and two products; a lane's 16 bytes are its Fragment16x16 of a product. Steps are
// padded with zeros to whole chunks of the weights, rows to whole tiles. Of a mixture: the rows of its tiles.
struct RowFragments {
  Global<const float> x; // [rows, depth]; depth: a multiple of 8
  Global<Uint4> to;      // [steps, tiles, 2, WARP]
  int rows, depth, steps, tiles;
  int eights;            // that a lane has side by side (LaneWeights::EIGHTS): 1, 2, 4
  ExpertTiles experts;   // rows: of y
};

// Row i of all tiles, as a row of y; −1: none. Tiles that are not there have no list of rows.
FUNCTION int row_of_tiles(ExpertTiles experts, int rows, int i) {
  if (experts.rows) return experts.of_tile[i / 16] < 0 ? -1 : experts.rows[i];
  return i < rows ? i : -1;
}

// Four neighbouring values in two words of bf16.
struct TwoWords {
  unsigned words[2];
};
FUNCTION TwoWords rounded_four(Global<const float> x, bool wide) {
  const Float4 four = wide ? as<const Float4>(x)[0] : Float4{x[0], x[1], x[2], x[3]};
  return {{bf16_pair(four[0], four[1]), bf16_pair(four[2], four[3])}};
}

// Where the eight values of a lane begin: those of steps [s, s + eights) lie side by side.
FUNCTION int k_of_lane(int step, int lane_of_row, int eights) {
  const int first = step / eights * eights;
  return first * 32 + (lane_of_row * eights + step - first) * 8;
}

KERNEL(row_fragments, RowFragments) {
  const bool wide = aligned(args.x);
  const int count = args.steps * args.tiles * 2 * WARP;
  for (int i = block_index() * block_threads() + thread_index(); i < count; i += grid_blocks() * block_threads()) {
    const int product = i / WARP % 2, tile = i / (2 * WARP) % args.tiles, step = i / (2 * WARP) / args.tiles;
    const int row = tile * 16 + i % WARP / 4, k = k_of_lane(step, i % 4, args.eights) + product * 4;
    TwoWords of_row[2] = {}; // of row, and of the row 8 below
    UNROLL for (int half = 0; half < 2; half++) {
      const int of_y = row_of_tiles(args.experts, args.rows, row + half * 8);
      if (of_y >= 0 && k < args.depth) of_row[half] = rounded_four(args.x + (int64_t(args.experts.rows ? of_y / args.experts.chosen : of_y) * args.depth + k), wide);
    }
    args.to[i] = Uint4{of_row[0].words[0], of_row[1].words[0], of_row[0].words[1], of_row[1].words[1]};
  }
}

// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] of up to three matrices. Each has blocks of its own, one matrix after the other.
template <class Weights>
struct RowLinear {
  Global<const Uint4> x;                      // row_fragments
  FewMatrix<Weights> matrices[MOST_MATRICES]; // y: [parts, rows, pitch]
  int rows, depth;
  int tiles;                                  // of x, 16 rows each
  int parts;                                  // blocks that share K
  int pitch;                                  // 0: the columns of the matrix
  int gated;                                  // the first y is silu(gate · x) · (up · x) of the first two matrices; parts: 1
  ExpertTiles experts;                        // of 16 rows each; w: [experts, columns, depth]
};

// Columns of row_sums that become a y.
struct SummedColumns {
  Global<const float> bias; // [columns], or null
  Global<float> y;          // [rows, columns]
  int columns;
};

// y = Σ parts + bias, in the order of parts, of all matrices of a launch.
struct RowSums {
  Global<const float> parts; // [count, rows, pitch]: columns of one matrix after the other
  SummedColumns of[MOST_MATRICES];
  int count, rows, pitch;
  int gated; // as in RowLinear
};

FUNCTION float sum_of_parts(ARGUMENTS const RowSums& args, int at) {
  const int64_t apart = int64_t(args.rows) * args.pitch;
  float sum = args.parts[at];
  for (int part = 1; part < args.count; part++) sum += args.parts[part * apart + at];
  return sum;
}

FUNCTION void put_row_sum(SummedColumns of, int row, int column, float sum) {
  of.y[int64_t(row) * of.columns + column] = of.bias ? sum + of.bias[column] : sum;
}

KERNEL(row_sums, RowSums) {
  const int width = args.gated ? args.of[0].columns : args.pitch, first = args.of[0].columns, second = first + args.of[1].columns;
  for (int i = block_index() * block_threads() + thread_index(); i < args.rows * width; i += grid_blocks() * block_threads()) {
    const int row = i / width, column = i - row * width, at = row * args.pitch + column;
    const float sum = sum_of_parts(args, at);
    if (args.gated) put_row_sum(args.of[0], row, column, silu_of(sum) * sum_of_parts(args, at + first));
    else if (column < first) put_row_sum(args.of[0], row, column, sum);
    else if (column < second) put_row_sum(args.of[1], row, column - first, sum);
    else put_row_sum(args.of[2], row, column - second, sum);
  }
}

} // namespace gpu
} // namespace quern
