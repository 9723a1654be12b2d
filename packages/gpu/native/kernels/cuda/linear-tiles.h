// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] on tensor cores, for any number of rows of x. x and w become sums of numbers of bf16, of
// which the last one is rounded to nearest. A float is the exact sum of three, an f16 of two: with three parts of x, products of parts
// are products of floats. Parts p of x and q of w with p + q ≥ the parts of x are left out: they are below the last bit that is
// kept. With more than one part, an infinite x gives NaN unless w is of bf16.
// A block of 256 threads per tile; 32 of k at a time in shared memory. Tensor cores cut sums off where floats are rounded to nearest: they
// add 32 of k, floats add these sums. Sums are in ascending order of k in every tile: the bits of a row depend neither on other rows nor
// on the tile's size.
#pragma once
#include "../../dialect/nvidia.h"
#include "tile-rows.h"

namespace quern {
namespace gpu {

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

// Chunks in shared memory: two, if 48 KiB have room. While one is multiplied, the next one is decoded.
template <int X_PARTS, int W_PARTS, int ROWS, int COLUMNS>
struct Buffers {
  enum { xs = X_PARTS * ROWS * EIGHTS, ws = W_PARTS * COLUMNS * EIGHTS, count = (xs + ws) * 16 * 2 <= 49152 ? 2 : 1 };
};

// xs: [buffers, X_PARTS, ROWS, EIGHTS]. ws: [buffers, W_PARTS, COLUMNS, EIGHTS].
template <int X_PARTS, int W_PARTS, int ROWS, int COLUMNS, class Weights>
FUNCTION void linear_tile(Shared<Uint4> xs, Shared<Uint4> ws, const TileLinear<Weights>& args) {
  using Has = Buffers<X_PARTS, W_PARTS, ROWS, COLUMNS>;
  constexpr int DOWN = ROWS / WARPS_DOWN / 16, ACROSS = COLUMNS / WARPS_ACROSS / 8; // outputs of a warp, in 16 × 8
  const int depth = args.of.depth, columns = args.of.columns, row_tiles = (args.of.rows + ROWS - 1) / ROWS;
  const int tile = block_index() % row_tiles, row = tile * ROWS, column = block_index() / row_tiles * COLUMNS;
  const int expert = args.experts.rows ? args.experts.of_tile[tile] : 0;
  if (expert < 0) return;
  const int warp_row = warp() % WARPS_DOWN * DOWN * 16, warp_column = warp() / WARPS_DOWN * ACROSS * 8;
  int filled = 0; // rows of the warp, in 16
  UNROLL for (int m = 0; m < DOWN; m++) filled += row_of_y(args, row + warp_row + m * 16) >= 0 ? 1 : 0;
  // What the lane gives to load_matrices.
  const int x_row = warp_row + lane() % 16, x_eight = lane() / 16;
  const int w_row = warp_column + lane() / 16 * 8 + lane() % 8, w_eight = lane() / 8 % 2;

  const Dense<F32> input = {args.of.x};
  TileRows<Dense<F32>, ROWS, X_PARTS> x = {input, depth, RowEight<Dense<F32>>::loads_wide(input, depth), {}, {}};
  TileRows<Weights, COLUMNS, W_PARTS> w = {args.of.w, depth, RowEight<Weights>::loads_wide(args.of.w, depth), {}, {}};
  UNROLL for (int i = 0; i < x.LOADS; i++) {
    const int of_y = row_of_load(i) < ROWS ? row_of_y(args, row + row_of_load(i)) : -1;
    x.rows[i] = of_y < 0 ? -1 : of_y / args.experts.chosen;
  }
  UNROLL for (int i = 0; i < w.LOADS; i++) {
    const int n = column + row_of_load(i);
    w.rows[i] = n < columns ? expert * columns + n : -1;
  }
  Sums16x8 sums[DOWN][ACROSS] = {};
  x.load(0);
  w.load(0);
  for (int start = 0; start < depth; start += CHUNK) {
    const int buffer = start / CHUNK % Has::count;
    const Shared<Uint4> chunk_x = xs + buffer * Has::xs, chunk_w = ws + buffer * Has::ws;
    if (Has::count == 1) barrier(); // the chunk before has been read
    x.store(chunk_x);
    w.store(chunk_w);
    barrier();
    x.load(start + CHUNK); // they arrive beside the sums
    w.load(start + CHUNK);
    Fragment16x8 b[EIGHTS / 2][W_PARTS][ACROSS];
    UNROLL for (int k = 0; k < EIGHTS / 2; k++)
      UNROLL for (int q = 0; q < W_PARTS; q++)
        UNROLL for (int n = 0; n < ACROSS; n += 2) {
          const Fragment16x16 two = load_matrices(chunk_w + (q * COLUMNS * EIGHTS + eight_at(w_row + n * 8, 2 * k + w_eight)));
          b[k][q][n] = {{two.words[0], two.words[1]}};
          b[k][q][n + 1] = {{two.words[2], two.words[3]}};
        }
    UNROLL for (int m = 0; m < DOWN; m++) {
      if (m >= filled) break;
      Sums16x8 of_chunk[ACROSS] = {};
      UNROLL for (int k = 0; k < EIGHTS / 2; k++)
        UNROLL for (int p = 0; p < X_PARTS; p++) {
          const Fragment16x16 a = load_matrices(chunk_x + (p * ROWS * EIGHTS + eight_at(x_row + m * 16, 2 * k + x_eight)));
          UNROLL for (int q = 0; q < W_PARTS; q++)
            UNROLL for (int n = 0; n < ACROSS; n++)
              if (p + q < X_PARTS) multiply_bf16(of_chunk[n], a, b[k][q][n]);
        }
      UNROLL for (int n = 0; n < ACROSS; n++) add_sums(sums[m][n], of_chunk[n]);
    }
  }

  UNROLL for (int m = 0; m < DOWN; m++)
    UNROLL for (int half = 0; half < 2; half++) {
      const int at = row_of_y(args, row + warp_row + m * 16 + half * 8 + lane() / 4);
      UNROLL for (int n = 0; n < ACROSS; n++)
        UNROLL for (int i = 0; i < 2; i++) {
          const int to = column + warp_column + n * 8 + lane() % 4 * 2 + i;
          const float sum = sums[m][n].values[half * 2 + i];
          if (at >= 0 && to < columns) args.of.y[int64_t(at) * columns + to] = args.of.bias ? sum + args.of.bias[to] : sum;
        }
    }
}

// tile: 128 × 128 outputs, for many rows. strip: 32 × 64, for few tiles. The number: parts of x.
#define LINEAR_TILE(name, x_parts, w_parts, rows, columns, Weights, blocks)         \
  KERNEL_OF(name, TileLinear<Weights>, TILE_THREADS, blocks) {                      \
    using Has = Buffers<x_parts, w_parts, rows, columns>;                           \
    SHARED(Uint4, xs, Has::count * Has::xs);                                        \
    SHARED(Uint4, ws, Has::count * Has::ws);                                        \
    linear_tile<x_parts, w_parts, rows, columns>(xs, ws, args);                     \
  }
#define LINEAR_TILES(x_parts, w_parts, Weights, name)                                                             \
  LINEAR_TILE(linear_tile_##x_parts##_##name, x_parts, (w_parts), 128, 128, Weights, 1)                           \
  LINEAR_TILE(linear_strip_##x_parts##_##name, x_parts, (w_parts), 32, 64, Weights, (x_parts == 1 ? 4 : 2))
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
#undef LINEAR_TILE

} // namespace gpu
} // namespace quern
