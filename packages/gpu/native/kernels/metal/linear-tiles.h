// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] on matrices of simdgroups, for any number of rows of x: products and sums of floats. A block of
// four simdgroups per tile of outputs; 32 of k at a time in shared memory, decoded. Sums are in ascending order of k in every tile: the
// bits of a row depend neither on other rows nor on the tile's size.
#pragma once
#include "../../dialect/simdgroup.h"
#include "../row-eight.h"

namespace quern {
namespace gpu {

// ROWS × 64 outputs. Simdgroups share them: `down` of them along rows, `across` along columns, each with [DOWN, ACROSS] matrices.
template <int ROWS>
struct FloatTile {
  enum { threads = 128, columns = 64, chunk = 32, eights = chunk / 8 };
  enum { pitch = chunk + 4, out_pitch = columns + 4 }; // floats from one row to the next, in shared memory
  enum { down = ROWS > 32 ? 2 : 1, across = 4 / down, DOWN = ROWS / down / 8, ACROSS = columns / across / 8 };
  enum { operands = (ROWS + columns) * pitch, outputs = ROWS * out_pitch, floats = operands > outputs ? operands : outputs };
};

// The tile of a block. Tiles of rows whose x has `NEAR` bytes together take all columns before the next ones: x is read from memory once,
// and w once for each such group.
CONSTANT int NEAR = 4 << 20; // half of the last cache of small chips

struct TilePlace {
  int row, column; // in tiles
};

template <int ROWS>
FUNCTION TilePlace tile_place(int block, int rows, int columns, int depth) {
  const int row_tiles = (rows + ROWS - 1) / ROWS, column_tiles = (columns + FloatTile<ROWS>::columns - 1) / FloatTile<ROWS>::columns;
  const int most = NEAR / 4 / ROWS / (depth > 0 ? depth : 1), of_group = most < 1 ? 1 : most < row_tiles ? most : row_tiles;
  const int group = block / (of_group * column_tiles), first = group * of_group, place = block - first * column_tiles;
  const int here = row_tiles - first < of_group ? row_tiles - first : of_group;
  return {first + place % here, place / here};
}

// ROWS rows of a matrix, `chunk` of k at a time: loads wait in registers while the chunk before is multiplied.
template <class Matrix, int ROWS>
struct FloatRows {
  using Has = FloatTile<ROWS>;
  enum { LOADS = (ROWS * Has::eights + Has::threads - 1) / Has::threads }; // of a thread
  Matrix matrix;
  int depth;
  bool wide;
  int rows[LOADS]; // of the matrix; −1: none
  RowEight<Matrix> eights[LOADS];

  static FUNCTION int row_of_load(int i) { return (thread_index() + i * Has::threads) / Has::eights; }
  FUNCTION void load(int k) {
    const int at = k + thread_index() % Has::eights * 8;
    UNROLL for (int i = 0; i < LOADS; i++)
      eights[i].load(matrix, int64_t(rows[i]) * depth + at, wide, rows[i] < 0 ? 0 : depth - at);
  }
  FUNCTION void store(Shared<float> floats) const {
    const int at = thread_index() % Has::eights * 8;
    UNROLL for (int i = 0; i < LOADS; i++) {
      const int row = row_of_load(i);
      if (row >= ROWS) continue;
      const Eight eight = eights[i].values(at);
      UNROLL for (int j = 0; j < 8; j++) floats[row * Has::pitch + at + j] = rows[i] < 0 ? 0.0f : eight.values[j];
    }
  }
};

// Adds the products of a chunk: [DOWN, ACROSS] matrices of the simdgroup. filled: of them along rows.
template <int DOWN, int ACROSS>
struct FloatSums {
  Matrix8 of[DOWN][ACROSS];

  FUNCTION void clear() {
    UNROLL for (int m = 0; m < DOWN; m++)
      UNROLL for (int n = 0; n < ACROSS; n++) of[m][n] = zero_matrix();
  }
  FUNCTION void add(Shared<float> x, Shared<float> w, int pitch, int filled) {
    UNROLL for (int k = 0; k < 32; k += 8) {
      Matrix8 right[ACROSS];
      UNROLL for (int n = 0; n < ACROSS; n++) right[n] = transposed_at(w + (n * 8 * pitch + k), pitch);
      UNROLL for (int m = 0; m < DOWN; m++) {
        if (m >= filled) break;
        const Matrix8 left = matrix_at(x + (m * 8 * pitch + k), pitch);
        UNROLL for (int n = 0; n < ACROSS; n++) of[m][n] = matrix_product(left, right[n], of[m][n]);
      }
    }
  }
  FUNCTION void put(Shared<float> y, int pitch) {
    UNROLL for (int m = 0; m < DOWN; m++)
      UNROLL for (int n = 0; n < ACROSS; n++) put_matrix(of[m][n], y + (m * 8 * pitch + n * 8), pitch);
  }
};

// shared: [floats]
template <int ROWS, class Weights>
FUNCTION void float_tile(Shared<float> shared, ARGUMENTS const TileLinear<Weights>& args) {
  using Has = FloatTile<ROWS>;
  const int depth = args.of.depth, columns = args.of.columns;
  const TilePlace at = tile_place<ROWS>(block_index(), args.of.rows, columns, depth);
  const int tile = at.row, row = tile * ROWS, column = at.column * Has::columns;
  const int expert = args.experts.rows ? args.experts.of_tile[tile] : 0;
  if (expert < 0) return;
  const int warp_row = warp() % Has::down * Has::DOWN * 8, warp_column = warp() / Has::down * Has::ACROSS * 8;
  int filled = 0;
  UNROLL for (int m = 0; m < Has::DOWN; m++) filled += row_of_y(args, row + warp_row + m * 8) >= 0 ? 1 : 0;

  const Dense<F32> input = {args.of.x};
  const Weights weights = args.of.w;
  FloatRows<Dense<F32>, ROWS> x;
  FloatRows<Weights, Has::columns> w;
  x.matrix = input, x.depth = depth, x.wide = RowEight<Dense<F32>>::loads_wide(input, depth);
  w.matrix = weights, w.depth = depth, w.wide = RowEight<Weights>::loads_wide(weights, depth);
  UNROLL for (int i = 0; i < x.LOADS; i++) {
    const int of_y = x.row_of_load(i) < ROWS ? row_of_y(args, row + x.row_of_load(i)) : -1;
    x.rows[i] = of_y < 0 ? -1 : of_y / args.experts.chosen;
  }
  UNROLL for (int i = 0; i < w.LOADS; i++) {
    const int n = column + w.row_of_load(i);
    w.rows[i] = n < columns ? expert * columns + n : -1;
  }
  const Shared<float> xs = shared, ws = shared + ROWS * Has::pitch;
  FloatSums<Has::DOWN, Has::ACROSS> sums;
  sums.clear();
  x.load(0);
  w.load(0);
  for (int start = 0; start < depth; start += Has::chunk) {
    barrier(); // the chunk before has been read
    x.store(xs);
    w.store(ws);
    barrier();
    x.load(start + Has::chunk); // they arrive beside the sums
    w.load(start + Has::chunk);
    sums.add(xs + warp_row * Has::pitch, ws + warp_column * Has::pitch, Has::pitch, filled);
  }

  barrier();
  sums.put(shared + (warp_row * Has::out_pitch + warp_column), Has::out_pitch);
  barrier();
  for (int i = thread_index(); i < ROWS * Has::columns; i += Has::threads) {
    const int of_y = row_of_y(args, row + i / Has::columns), to = column + i % Has::columns;
    if (of_y < 0 || to >= columns) continue;
    const float sum = shared[i / Has::columns * Has::out_pitch + i % Has::columns];
    args.of.y[int64_t(of_y) * columns + to] = args.of.bias ? sum + args.of.bias[to] : sum;
  }
}

// tile: 64 × 64 outputs; strip: 16 × 64, for few rows.
#define FLOAT_TILE(kernel, rows, Weights)                                \
  KERNEL_OF(kernel, TileLinear<Weights>, FloatTile<rows>::threads, 1) {  \
    SHARED(float, shared, FloatTile<rows>::floats);                      \
    float_tile<rows>(shared, args);                                      \
  }
#define FLOAT_TILES(Weights, name)                \
  FLOAT_TILE(linear_tile_##name, 64, Weights)     \
  FLOAT_TILE(linear_strip_##name, 16, Weights)
EVERY_WEIGHT(FLOAT_TILES)
#undef FLOAT_TILES
#undef FLOAT_TILE

} // namespace gpu
} // namespace quern
