// A norm between two products of few rows, without a launch of its own: sum = residual + x · wᵀ + bias, y = rmsNorm(sum) · v. The product
// before it writes sum, sum · v, and the squares of sum by four columns. The product behind it has sum · v as its x, and multiplies its
// sums by 1 / √(mean square + eps) of their row. The squares are added in an order that depends on the width alone: the bits of a row do
// not depend on other rows.
#pragma once
#include "lane-sums.h"

namespace quern {
namespace gpu {

CONSTANT int NORM_COLUMNS = 4; // that share a square
CONSTANT int NORM_SUMS = 32;   // of the warps of a block and of rows

// The norm of a product's x; squares: null: x is as it is.
struct NormOfX {
  Global<const float> squares; // [rows, count]
  int count;
  float eps;
};

// The norm of a product's y = sum; squares: null: there is none.
struct NormOfY {
  Global<const float> residual; // [rows, columns]
  Global<const float> w;        // [columns]
  Global<float> scaled;         // [rows, columns]: y · w
  Global<float> squares;        // [rows, count]
  int count;
};

// The squares of the rows of x, by warp, for row_factor. All threads of the block call it.
template <int ROWS>
FUNCTION void add_squares(NormOfX norm, int rows, Shared<float> sums) {
  if (!norm.squares) return;
  LaneSums<ROWS> mine = {};
  for (int i = thread_index(); i < norm.count; i += block_threads())
    UNROLL for (int t = 0; t < ROWS; t++)
      if (t < rows) mine.of[t] += norm.squares[t * norm.count + i];
  const float sum = warp_sums(mine);
  if (lane() < ROWS) sums[warp() * ROWS + lane()] = sum;
  barrier();
}

// What multiplies the sums of a row. Lanes without a row get that of another one. All lanes of a warp call it.
template <int ROWS>
FUNCTION float row_factor(NormOfX norm, int row, int width, Shared<float> sums) {
  if (!norm.squares) return 1;
  warp_barrier(); // the compiler would keep the sums in registers through the product
  float squares = 0;
  for (int i = 0; i < block_threads() / WARP; i++) squares += sums[i * ROWS + row % ROWS];
  return inverse_square_root(squares / float(width) + norm.eps);
}

// Lane t · COLUMNS + c has the square of row t and column first + c. Warps of fewer columns than share a square are neighbours, and all
// of the block call it.
template <int ROWS, int COLUMNS>
FUNCTION void put_squares(float square, NormOfY norm, int rows, int first, Shared<float> sums) {
  if (!norm.squares) return;
  UNROLL for (int apart = 1; apart < COLUMNS; apart *= 2) square += shuffle_xor(square, apart);
  const int t = lane() / COLUMNS, at = first / NORM_COLUMNS;
  if (COLUMNS == NORM_COLUMNS) {
    if (lane() % COLUMNS == 0 && t < rows && at < norm.count) norm.squares[t * norm.count + at] = square;
    return;
  }
  if (lane() % COLUMNS == 0 && t < ROWS) sums[warp() * ROWS + t] = square;
  barrier();
  if (first % NORM_COLUMNS == 0 && lane() < rows && at < norm.count) {
    const Shared<float> mine = sums + (warp() * ROWS + lane());
    norm.squares[lane() * norm.count + at] = COLUMNS == 2 ? mine[0] + mine[ROWS] : mine[0] + mine[ROWS] + (mine[2 * ROWS] + mine[3 * ROWS]);
  }
  barrier();
}

// The weights of the norm of y, of the columns of a warp: while launches before are not done.
FUNCTION void prefetch_norm(NormOfY norm, int first, int columns) {
  if (norm.squares && lane() == 0 && first < columns) prefetch(norm.w + first);
}

} // namespace gpu
} // namespace quern
