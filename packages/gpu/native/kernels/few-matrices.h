// Up to three matrices that one launch multiplies with the same few rows of x. Each has blocks of its own, one matrix after the other.
#pragma once
#include "dense-weights.h"

namespace quern {
namespace gpu {

CONSTANT int MOST_MATRICES = 3;

// A kernel for each number of rows that shares a step: its registers decide how many warps load weights at a time. F(format, name, rows).
#define EVERY_FEW_ROWS(F, Format, name) \
  F(Format, name, 1)                    \
  F(Format, name, 2)                    \
  F(Format, name, 4)                    \
  F(Format, name, 8)

template <class Weights>
struct FewMatrix {
  Weights w;                // [columns, depth]
  Global<const float> bias; // [columns], or null
  Global<float> y;          // [rows, columns]
  int columns;
  int end;                  // blocks of this matrix and those before
};

template <class Weights>
struct FewLinear {
  Global<const float> x; // [rows, depth]
  FewMatrix<Weights> matrices[MOST_MATRICES];
  int rows, depth;
  int parts;             // of blocks of weights: warps that share a row of w: 1, 2, 4
};

// The matrix of a block of threads, and the block's place among its blocks.
template <class Weights>
struct FewShare {
  FewMatrix<Weights> matrix;
  int block, blocks;
};

template <class Weights>
FUNCTION FewShare<Weights> share_of_block(ARGUMENTS const FewLinear<Weights>& args) {
  const int first = args.matrices[0].end, second = args.matrices[1].end, block = block_index();
  if (block < first) return {args.matrices[0], block, first};
  if (block < second) return {args.matrices[1], block - first, second - first};
  return {args.matrices[2], block - second, args.matrices[2].end - second};
}

// COUNT values of a lane: 1, 2, … 32.
template <int COUNT>
struct LaneSums {
  float of[COUNT];
};

// The sum of values i over the lanes of a warp, in lane i: with the bits of warp_sum. Lanes that add half of the values give the other
// half away, so that 32 sums take 31 shuffles.
template <int COUNT>
FUNCTION float warp_sums(LaneSums<COUNT> values) {
  UNROLL for (int step = 0; step < 5; step++) {
    const int kept = COUNT >> (step + 1), apart = WARP >> (step + 1);
    const bool upper = (lane() & apart) != 0;
    UNROLL for (int i = 0; i < COUNT / 2; i++)
      if (i < kept) {
        const float low = values.of[i], high = values.of[i + kept];
        values.of[i] = (upper ? high : low) + shuffle_xor(upper ? low : high, apart);
      }
    if (kept == 0) values.of[0] += shuffle_xor(values.of[0], apart);
  }
  const float sum = values.of[0]; // of value lane · COUNT / WARP
  return COUNT == 1 || COUNT == WARP ? sum : shuffle(sum, lane() % COUNT * (WARP / COUNT));
}

// Lane t · COLUMNS + c has the sum of row t and column first + c.
template <int COLUMNS, class Weights>
FUNCTION void put_sums(float sum, FewMatrix<Weights> matrix, int rows, int first) {
  const int t = lane() / COLUMNS, n = first + lane() % COLUMNS;
  if (t < rows && n < matrix.columns) matrix.y[int64_t(t) * matrix.columns + n] = matrix.bias ? sum + matrix.bias[n] : sum;
}

} // namespace gpu
} // namespace quern
