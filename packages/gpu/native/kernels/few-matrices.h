// Up to three matrices that one launch multiplies with the same few rows of x. Each has blocks of its own, one matrix after the other.
#pragma once
#include "dense-weights.h"
#include "folded-norm.h"

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
  NormOfX of_x;
  NormOfY of_y;          // of the one matrix
};

// The matrix of a block of threads, and the block's place among its blocks. Its arguments stay where they are: registers are scarce.
struct FewShare {
  int matrix, block, blocks;
};

template <class Weights>
FUNCTION FewShare share_of_block(ARGUMENTS const FewLinear<Weights>& args) {
  const int first = args.matrices[0].end, second = args.matrices[1].end, block = block_index();
  if (block < first) return {0, block, first};
  if (block < second) return {1, block - first, second - first};
  return {2, block - second, args.matrices[2].end - second};
}

// A copy: for kernels that have registers for it.
template <class Weights>
FUNCTION FewMatrix<Weights> matrix_of(ARGUMENTS const FewLinear<Weights>& args, FewShare share) {
  return share.matrix == 0 ? args.matrices[0] : share.matrix == 1 ? args.matrices[1] : args.matrices[2];
}

// Lane t · COLUMNS + c has the sum of row t and column first + c, which `factor` multiplies. The square of what it writes.
template <int COLUMNS, class Weights>
FUNCTION float put_sums(float sum, float factor, NormOfY norm, FewMatrix<Weights> matrix, int rows, int first) {
  const int t = lane() / COLUMNS, n = first + lane() % COLUMNS;
  if (t >= rows || n >= matrix.columns) return 0;
  const int64_t at = int64_t(t) * matrix.columns + n;
  float y = sum * factor;
  if (matrix.bias) y += matrix.bias[n];
  if (norm.squares) {
    y += norm.residual[at];
    norm.scaled[at] = y * norm.w[n];
  }
  matrix.y[at] = y;
  return y * y;
}

} // namespace gpu
} // namespace quern
