// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] on tensor cores, for any number of rows of x. x and w become sums of numbers of bf16, of
// which the last one is rounded to nearest. A float is the exact sum of three, an f16 of two: with three parts of x, products of parts
// are products of floats. Parts p of x and q of w with p + q ≥ the parts of x are left out: they are below the last bit that is
// kept. With more than one part, an infinite x gives NaN unless w is of bf16.
// A block of 256 threads per tile; 32 of k at a time in shared memory. Tensor cores cut sums off where floats are rounded to nearest: they
// add 32 of k, floats add these sums. Sums are in ascending order of k in every tile: the bits of a row depend neither on other rows nor
// on the tile's size.
#pragma once
#include "../../dialect/nvidia.h"
#include "../formats/every.h"
#include "bf16-parts.h"

namespace quern {
namespace gpu {

constexpr int CHUNK = 32, EIGHTS = CHUNK / 8; // EIGHTS: 16 bytes of a row of a chunk
constexpr int WARPS_DOWN = 2, WARPS_ACROSS = 4;

// Numbers of bf16 that a weight is the exact sum of.
template <class Weights>
struct ExactParts {
  enum { count = 3 };
};
template <>
struct ExactParts<Dense<F16>> {
  enum { count = 2 };
};
template <>
struct ExactParts<Dense<Bf16>> {
  enum { count = 1 };
};

// Where eight values of a row are in shared memory: rows that a warp reads together meet no bank twice.
FUNCTION int eight_at(int row, int eight) { return row * EIGHTS + (eight ^ (row / 2 % EIGHTS)); }

// Values at .. at + 7 of a matrix; 0 where fewer than that are left. `wide`: loads of 16 bytes are allowed.
template <class Format>
FUNCTION Eight load_eight(Dense<Format> matrix, long at, bool wide, int left) {
  using Loaded = typename Wide<Format>::Loaded;
  constexpr int WIDE = Wide<Format>::count;
  Eight eight;
  if (wide && left >= 8) {
    UNROLL for (int i = 0; i < 8; i += WIDE) {
      const Loaded loaded = as<const Loaded>(matrix.values + (at + i))[0];
      UNROLL for (int j = 0; j < WIDE; j++) eight.values[i + j] = Wide<Format>::value(loaded, j);
    }
  } else {
    UNROLL for (int i = 0; i < 8; i++) eight.values[i] = i < left ? matrix.at(at + i) : 0.0f;
  }
  return eight;
}
template <class Format>
FUNCTION Eight load_eight(Blocks<Format> matrix, long at, bool, int left) {
  return left > 0 ? matrix.eight_at(at) : Eight{};
}

template <class Format>
FUNCTION bool loads_wide(Dense<Format> matrix, int depth) { return depth % 8 == 0 && aligned(matrix.values); }
template <class Format>
FUNCTION bool loads_wide(Blocks<Format>, int) { return true; }

// ROWS rows of a matrix [count, depth] from row `first` on: loaded into registers, then written to shared memory in parts.
template <class Matrix, int ROWS, int PARTS>
struct TileRows {
  static constexpr int LOADS = (ROWS * EIGHTS + 255) / 256; // of a thread
  Matrix matrix;
  int first, count, depth;
  bool wide;
  Eight eights[LOADS];

  FUNCTION void load(int k) {
    UNROLL for (int i = 0; i < LOADS; i++) {
      const int item = thread_index() + i * 256, row = first + item / EIGHTS, at = k + item % EIGHTS * 8;
      const bool inside = item < ROWS * EIGHTS && row < count;
      eights[i] = load_eight(matrix, long(inside ? row : 0) * depth + at, wide, inside ? depth - at : 0);
    }
  }
  FUNCTION void store(Shared<Uint4> parts) {
    UNROLL for (int i = 0; i < LOADS; i++) {
      const int item = thread_index() + i * 256, at = eight_at(item / EIGHTS, item % EIGHTS);
      if (item >= ROWS * EIGHTS) break;
      UNROLL for (int p = 0; p < PARTS - 1; p++) parts[p * ROWS * EIGHTS + at] = take_part<false>(eights[i]);
      parts[(PARTS - 1) * ROWS * EIGHTS + at] = take_part<true>(eights[i]);
    }
  }
};

// xs: [X_PARTS, ROWS, EIGHTS]. ws: [W_PARTS, COLUMNS, EIGHTS].
template <int X_PARTS, int W_PARTS, int ROWS, int COLUMNS, class Weights>
FUNCTION void linear_tile(Shared<Uint4> xs, Shared<Uint4> ws, const Linear<Weights>& args) {
  constexpr int DOWN = ROWS / WARPS_DOWN / 16, ACROSS = COLUMNS / WARPS_ACROSS / 8; // outputs of a warp, in 16 × 8
  const int row_tiles = (args.rows + ROWS - 1) / ROWS;
  const int row = block_index() % row_tiles * ROWS, column = block_index() / row_tiles * COLUMNS;
  const int warp_row = warp() % WARPS_DOWN * DOWN * 16, warp_column = warp() / WARPS_DOWN * ACROSS * 8;
  // What the lane gives to load_matrices.
  const int x_row = warp_row + lane() % 16, x_eight = lane() / 16;
  const int w_row = warp_column + lane() / 16 * 8 + lane() % 8, w_eight = lane() / 8 % 2;

  const Dense<F32> input = {args.x};
  TileRows<Dense<F32>, ROWS, X_PARTS> x = {input, row, args.rows, args.depth, loads_wide(input, args.depth), {}};
  TileRows<Weights, COLUMNS, W_PARTS> w = {args.w, column, args.columns, args.depth, loads_wide(args.w, args.depth), {}};
  Sums16x8 sums[DOWN][ACROSS] = {};
  x.load(0);
  w.load(0);
  for (int start = 0; start < args.depth; start += CHUNK) {
    barrier(); // the chunk before has been read
    x.store(xs);
    w.store(ws);
    barrier();
    x.load(start + CHUNK); // runs beside the sums
    w.load(start + CHUNK);
    Fragment16x8 b[EIGHTS / 2][W_PARTS][ACROSS];
    UNROLL for (int k = 0; k < EIGHTS / 2; k++)
      UNROLL for (int q = 0; q < W_PARTS; q++)
        UNROLL for (int n = 0; n < ACROSS; n += 2) {
          const Fragment16x16 two = load_matrices(ws + (q * COLUMNS * EIGHTS + eight_at(w_row + n * 8, 2 * k + w_eight)));
          b[k][q][n] = {{two.words[0], two.words[1]}};
          b[k][q][n + 1] = {{two.words[2], two.words[3]}};
        }
    UNROLL for (int m = 0; m < DOWN; m++) {
      if (row + warp_row + m * 16 >= args.rows) break;
      Sums16x8 of_chunk[ACROSS] = {};
      UNROLL for (int k = 0; k < EIGHTS / 2; k++)
        UNROLL for (int p = 0; p < X_PARTS; p++) {
          const Fragment16x16 a = load_matrices(xs + (p * ROWS * EIGHTS + eight_at(x_row + m * 16, 2 * k + x_eight)));
          UNROLL for (int q = 0; q < W_PARTS; q++)
            UNROLL for (int n = 0; n < ACROSS; n++)
              if (p + q < X_PARTS) multiply_bf16(of_chunk[n], a, b[k][q][n]);
        }
      UNROLL for (int n = 0; n < ACROSS; n++) add_sums(sums[m][n], of_chunk[n]);
    }
  }

  UNROLL for (int m = 0; m < DOWN; m++)
    UNROLL for (int n = 0; n < ACROSS; n++)
      UNROLL for (int i = 0; i < 4; i++) {
        const int at = row + warp_row + m * 16 + lane() / 4 + i / 2 * 8, to = column + warp_column + n * 8 + lane() % 4 * 2 + i % 2;
        const float sum = sums[m][n].values[i];
        if (at < args.rows && to < args.columns) args.y[long(at) * args.columns + to] = args.bias ? sum + args.bias[to] : sum;
      }
}

// tile: 128 × 128 outputs, for many rows. strip: 32 × 64, for few tiles. The number: parts of x.
#define LINEAR_TILES(x_parts, w_parts, Weights, name)                        \
  KERNEL(linear_tile_##x_parts##_##name, Linear<Weights>) {                  \
    SHARED(Uint4, xs, x_parts * 128 * EIGHTS);                               \
    SHARED(Uint4, ws, (w_parts) * 128 * EIGHTS);                             \
    linear_tile<x_parts, w_parts, 128, 128>(xs, ws, args);                   \
  }                                                                          \
  KERNEL(linear_strip_##x_parts##_##name, Linear<Weights>) {                 \
    SHARED(Uint4, xs, x_parts * 32 * EIGHTS);                                \
    SHARED(Uint4, ws, (w_parts) * 64 * EIGHTS);                              \
    linear_tile<x_parts, w_parts, 32, 64>(xs, ws, args);                     \
  }
#define LINEAR_OF_FLOATS(Weights, name) LINEAR_TILES(3, ExactParts<Weights>::count, Weights, name)
#define LINEAR_OF_BF16(Format, name) LINEAR_TILES(1, 1, Blocks<Format>, name)
EVERY_WEIGHT(LINEAR_OF_FLOATS)
EVERY_BLOCK_FORMAT(LINEAR_OF_BF16)
LINEAR_TILES(2, 2, Dense<F16>, f16)
LINEAR_TILES(1, 1, Dense<F16>, f16)
LINEAR_TILES(1, 1, Dense<Bf16>, bf16)
#undef LINEAR_OF_BF16
#undef LINEAR_OF_FLOATS
#undef LINEAR_TILES

} // namespace gpu
} // namespace quern
