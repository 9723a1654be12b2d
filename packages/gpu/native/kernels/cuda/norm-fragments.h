// A norm between two products of linear-rows.h: sum = residual + Σ parts + bias, and rmsNorm(sum) · w as fragments of the product behind it.
// A block per row.
#pragma once
#include "../rms-norm.h"
#include "row-fragments.h"

namespace quern {
namespace gpu {

struct NormFragments {
  Global<const float> parts;    // [count, rows, width]
  Global<const float> bias;     // [width], or null
  Global<const float> residual; // [rows, width]
  Global<const float> w;        // [width]; width: a multiple of 8
  Global<float> sum;            // [rows, width]
  Global<float> y;              // [rows, width], or null: for products that take no such fragments
  Global<unsigned> to;          // as in RowFragments
  int count, rows, width, steps, tiles;
  int shift;                    // eights = 1 << shift
  float eps;
};

CONSTANT int NORM_THREADS = 512; // at most: with 1024 there are too few registers for these loads
CONSTANT int PARTS_AHEAD = 4;    // whose loads are under way at once

// Elements of Σ parts of a row, in the order of parts.
FUNCTION RowFours fours_of_parts(ARGUMENTS const NormFragments& args, int64_t row, int first) {
  const int64_t apart = int64_t(args.rows) * args.width;
  RowFours sum = {};
  for (int from = 0; from < args.count; from += PARTS_AHEAD) {
    RowFours loaded[PARTS_AHEAD] = {};
    UNROLL for (int i = 0; i < PARTS_AHEAD; i++)
      if (from + i < args.count) loaded[i] = row_fours(args.parts + ((from + i) * apart + row), first, args.width);
    UNROLL for (int i = 0; i < PARTS_AHEAD; i++)
      if (from + i < args.count) sum = from + i == 0 ? loaded[i] : sum_of_fours(sum, loaded[i]);
  }
  return sum;
}

FUNCTION RowFours fours_of_sum(ARGUMENTS const NormFragments& args, int64_t row, int first) {
  const RowFours residual = row_fours(args.residual + row, first, args.width);
  RowFours sum = fours_of_parts(args, row, first);
  if (args.bias) sum = sum_of_fours(sum, row_fours(args.bias, first, args.width));
  return sum_of_fours(residual, sum);
}

// Where the four values of a row from k on begin, in words; the third and fourth are two words further.
FUNCTION int64_t word_of_four(int tiles, int shift, int row, int k) {
  const int inside = k & ((32 << shift) - 1), of_lane = inside & ((8 << shift) - 1);
  const int step = (k >> (5 + shift) << shift) + (of_lane >> 3), lane_of_row = inside >> (3 + shift), product = k >> 2 & 1;
  const int64_t uint4 = ((int64_t(step) * tiles + row / 16) * 2 + product) * WARP + row % 8 * 4 + lane_of_row;
  return uint4 * 4 + row % 16 / 8;
}

// Values of a row as fragments: zeros from `width` on, to the end of the last step.
FUNCTION void put_fragments(ARGUMENTS const NormFragments& args, RowFours held, int row, int first) {
  UNROLL for (int four = 0; four < ROW_FOURS; four++) {
    const int i = 4 * four, k = row_place(first, i);
    if (k >= args.steps * 32) continue;
    const Global<unsigned> to = args.to + word_of_four(args.tiles, args.shift, row, k);
    to[0] = bf16_pair(held.values[i], held.values[i + 1]);
    to[2] = bf16_pair(held.values[i + 2], held.values[i + 3]);
  }
}

// Missing rows of the last tiles are zeros.
FUNCTION void put_empty_row(ARGUMENTS const NormFragments& args, int row) {
  for (int at = 0; at < args.steps * 32; at += row_step()) put_fragments(args, RowFours{}, row, at);
}

FUNCTION void put_normed(ARGUMENTS const NormFragments& args, RowFours held, RowFours w, float factor, int row, int first) {
  const RowFours normed = scaled_fours(held, factor, w);
  if (args.y && first < args.width) put_row_fours(args.y + int64_t(row) * args.width, normed, first, args.width);
  put_fragments(args, normed, row, first);
}

KERNEL_AHEAD_OF(norm_fragments, NormFragments, NORM_THREADS, 1) {
  SHARED(float, sums, WARP);
  prefetch_row(args.w, args.width);
  if (args.bias) prefetch_row(args.bias, args.width);
  previous_launches_done();
  const int row = block_index(), width = args.width, step = row_step();
  if (row >= args.rows) return put_empty_row(args, row);
  const int64_t start = int64_t(row) * width;
  const RowFours w = row_fours(args.w, 0, width), first = fours_of_sum(args, start, 0);
  put_row_fours(args.sum + start, first, 0, width);
  float squares = squares_of(first);
  for (int at = step; at < width; at += step) {
    const RowFours held = fours_of_sum(args, start, at);
    put_row_fours(args.sum + start, held, at, width);
    squares += squares_of(held);
  }
  const float factor = inverse_square_root(block_sum(squares, sums) / float(width) + args.eps);
  put_normed(args, first, w, factor, row, 0);
  for (int at = step; at < args.steps * 32; at += step)
    put_normed(args, row_fours(args.sum + start, at, width), row_fours(args.w, at, width), factor, row, at);
}

} // namespace gpu
} // namespace quern
