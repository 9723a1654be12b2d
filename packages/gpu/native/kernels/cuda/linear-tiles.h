// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] on tensor cores, for any number of rows of x. A float is the exact sum of three
// numbers of bf16, an f16 of two: products of these parts are products of floats. Parts p of x and q of w with p + q > 2 are left out: they
// are below a float's last bit. With f16, an infinite x gives NaN.
// A block of 256 threads per tile; 32 of k at a time in shared memory. Sums are in ascending order of k in every tile: the bits of
// a row depend neither on other rows nor on the tile's size.
#pragma once
#include "../../dialect/nvidia.h"
#include "../dense-weights.h"

namespace quern {
namespace gpu {

constexpr int X_PARTS = 3, CHUNK = 32, EIGHTS = CHUNK / 8; // EIGHTS: 16 bytes of a row of a chunk
constexpr int WARPS_DOWN = 2, WARPS_ACROSS = 4;

// Numbers of bf16 that a weight is the exact sum of.
template <class Format>
struct Parts;
template <>
struct Parts<F16> {
  enum { count = 2 };
};
template <>
struct Parts<Bf16> {
  enum { count = 1 };
};

// Where eight values of a row are in shared memory: rows that a warp reads together meet no bank twice.
FUNCTION int eight_at(int row, int eight) { return row * EIGHTS + (eight ^ (row / 2 % EIGHTS)); }

// Values 0 to 7 of `from`; 0 where fewer than that are left.
template <class Format>
FUNCTION void load_eight(Global<const typename Format::Stored> from, bool wide, int left, float (&values)[8]) {
  using Loaded = typename Wide<Format>::Loaded;
  constexpr int WIDE = Wide<Format>::count;
  if (wide && left >= 8) {
    UNROLL for (int i = 0; i < 8; i += WIDE) {
      const Loaded loaded = as<const Loaded>(from + i)[0];
      UNROLL for (int j = 0; j < WIDE; j++) values[i + j] = Wide<Format>::value(loaded, j);
    }
  } else {
    UNROLL for (int i = 0; i < 8; i++) values[i] = i < left ? Format::value(from[i]) : 0.0f;
  }
}

// The upper halves of eight floats, as bf16. Leaves what remains of the floats; nothing of infinity.
FUNCTION Uint4 take_part(float (&values)[8]) {
  unsigned words[4];
  UNROLL for (int i = 0; i < 8; i++) {
    const unsigned high = to_bits(values[i]) & 0xffff0000u;
    const float rest = values[i] - from_bits(high);
    words[i / 2] = i % 2 == 0 ? high >> 16 : words[i / 2] | high;
    values[i] = is_nan(rest) ? 0.0f : rest;
  }
  return Uint4{words[0], words[1], words[2], words[3]};
}

// ROWS rows of a matrix [count, depth] from row `first` on: loaded into registers, then written to shared memory in parts.
template <class Format, int ROWS, int PARTS>
struct TileRows {
  static constexpr int LOADS = (ROWS * EIGHTS + 255) / 256; // of a thread
  Global<const typename Format::Stored> matrix;
  int first, count, depth;
  bool wide; // loads of 16 bytes are allowed
  float values[LOADS][8];

  FUNCTION void load(int k) {
    UNROLL for (int i = 0; i < LOADS; i++) {
      const int item = thread_index() + i * 256, row = first + item / EIGHTS, at = k + item % EIGHTS * 8;
      const bool inside = item < ROWS * EIGHTS && row < count;
      load_eight<Format>(matrix + (long(inside ? row : 0) * depth + at), wide, inside ? depth - at : 0, values[i]);
    }
  }
  FUNCTION void store(Shared<Uint4> parts) {
    UNROLL for (int i = 0; i < LOADS; i++) {
      const int item = thread_index() + i * 256;
      if (item < ROWS * EIGHTS)
        UNROLL for (int p = 0; p < PARTS; p++)
          parts[p * ROWS * EIGHTS + eight_at(item / EIGHTS, item % EIGHTS)] = take_part(values[i]);
    }
  }
};

// xs: [X_PARTS, ROWS, EIGHTS]. ws: [Parts<Format>::count, COLUMNS, EIGHTS].
template <class Format, int ROWS, int COLUMNS>
FUNCTION void linear_tile(Shared<Uint4> xs, Shared<Uint4> ws, const Linear<Dense<Format>>& args) {
  constexpr int W_PARTS = Parts<Format>::count;
  constexpr int DOWN = ROWS / WARPS_DOWN / 16, ACROSS = COLUMNS / WARPS_ACROSS / 8; // outputs of a warp, in 16 × 8
  const int row_tiles = (args.rows + ROWS - 1) / ROWS;
  const int row = block_index() % row_tiles * ROWS, column = block_index() / row_tiles * COLUMNS;
  const int warp_row = warp() % WARPS_DOWN * DOWN * 16, warp_column = warp() / WARPS_DOWN * ACROSS * 8;
  // What the lane gives to load_matrices.
  const int x_row = warp_row + lane() % 16, x_eight = lane() / 16;
  const int w_row = warp_column + lane() / 16 * 8 + lane() % 8, w_eight = lane() / 8 % 2;

  TileRows<F32, ROWS, X_PARTS> x = {args.x, row, args.rows, args.depth, args.depth % 4 == 0 && aligned(args.x), {}};
  TileRows<Format, COLUMNS, W_PARTS> w = {
      args.w.values, column, args.columns, args.depth, args.depth % 8 == 0 && aligned(args.w.values), {}};
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
    UNROLL for (int eight = 0; eight < EIGHTS; eight += 2) {
      Fragment16x8 b[W_PARTS][ACROSS];
      UNROLL for (int q = 0; q < W_PARTS; q++)
        UNROLL for (int n = 0; n < ACROSS; n += 2) {
          const Fragment16x16 two = load_matrices(ws + (q * COLUMNS * EIGHTS + eight_at(w_row + n * 8, eight + w_eight)));
          b[q][n] = {{two.words[0], two.words[1]}};
          b[q][n + 1] = {{two.words[2], two.words[3]}};
        }
      UNROLL for (int m = 0; m < DOWN; m++) {
        if (row + warp_row + m * 16 >= args.rows) break;
        UNROLL for (int p = 0; p < X_PARTS; p++) {
          const Fragment16x16 a = load_matrices(xs + (p * ROWS * EIGHTS + eight_at(x_row + m * 16, eight + x_eight)));
          UNROLL for (int q = 0; q < W_PARTS; q++)
            UNROLL for (int n = 0; n < ACROSS; n++)
              if (p + q < X_PARTS) multiply_bf16(sums[m][n], a, b[q][n]);
        }
      }
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

// tile: 128 × 128 outputs, for many rows. strip: 32 × 64, for few tiles.
#define LINEAR_TILES(Format, name)                                     \
  KERNEL(linear_tile_##name, Linear<Dense<Format>>) {                  \
    SHARED(Uint4, xs, X_PARTS * 128 * EIGHTS);                         \
    SHARED(Uint4, ws, Parts<Format>::count * 128 * EIGHTS);            \
    linear_tile<Format, 128, 128>(xs, ws, args);                       \
  }                                                                    \
  KERNEL(linear_strip_##name, Linear<Dense<Format>>) {                 \
    SHARED(Uint4, xs, X_PARTS * 32 * EIGHTS);                          \
    SHARED(Uint4, ws, Parts<Format>::count * 64 * EIGHTS);             \
    linear_tile<Format, 32, 64>(xs, ws, args);                         \
  }
LINEAR_TILES(F16, f16)
LINEAR_TILES(Bf16, bf16)
#undef LINEAR_TILES

} // namespace gpu
} // namespace quern
