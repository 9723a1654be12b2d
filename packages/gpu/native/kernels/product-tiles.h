// Products in tiles of 64 × 64 outputs: a block of 256 threads per tile, 4 × 4 outputs per thread, 16 of k at a time in shared
// memory.
#pragma once
#include "dense-weights.h"

namespace quern {
namespace gpu {

constexpr int TILE = 64, TILE_DEPTH = 16;
constexpr int TILE_PITCH = TILE / 4 + 1;              // Float4s from one k to the next; odd, so that writes meet no bank twice
constexpr int TILE_FLOATS4 = TILE_DEPTH * TILE_PITCH; // of one input

// Elements at, at + step, at + 2 · step, at + 3 · step of p; 0 outside of the array and where `inside` is false.
template <class Values>
FUNCTION Float4 four_or_0(Values p, long count, long at, long step, bool inside) {
  const long a = at, b = at + step, c = b + step, d = c + step;
  return Float4{inside && a >= 0 && a < count ? p.at(a) : 0.0f, inside && b >= 0 && b < count ? p.at(b) : 0.0f,
                inside && c >= 0 && c < count ? p.at(c) : 0.0f, inside && d >= 0 && d < count ? p.at(d) : 0.0f};
}

// y[t, n] = Σ_k x[first + t · step + k] · w[n, k] + bias[n], with 0 outside of x, which has `count` elements. xs, ws: TILE_FLOATS4
// each. Sums are in ascending order of k.
template <class Weights>
FUNCTION void product_tile(Shared<Float4> xs, Shared<Float4> ws, Global<const float> input, long count, long first, long step,
                           Weights w, Global<const float> bias, Global<float> y, int rows, int columns, int depth) {
  const Dense<F32> x = {input};
  const int row_tiles = (rows + TILE - 1) / TILE;
  const int row = block_index() % row_tiles * TILE, column = block_index() / row_tiles * TILE;
  const int k = thread_index() % TILE_DEPTH, group = thread_index() / TILE_DEPTH, place = k * TILE_PITCH + group; // what it loads
  const int across = thread_index() % (TILE / 4), down = thread_index() / (TILE / 4);                             // what it adds
  const long x_at = first + (row + group * 4) * step + k;
  const long w_at = long(column + group * 4) * depth + k, w_count = long(columns) * depth;

  float sums[4][4] = {};
  Float4 next_x = four_or_0(x, count, x_at, step, k < depth), next_w = four_or_0(w, w_count, w_at, depth, k < depth);
  for (int start = 0; start < depth; start += TILE_DEPTH) {
    barrier(); // the tile before has been read
    xs[place] = next_x;
    ws[place] = next_w;
    barrier();
    const int next = start + TILE_DEPTH; // its loads run beside the sums
    next_x = four_or_0(x, count, x_at + next, step, k + next < depth);
    next_w = four_or_0(w, w_count, w_at + next, depth, k + next < depth);
    for (int i = 0; i < TILE_DEPTH; i++) {
      const Float4 a = xs[i * TILE_PITCH + down], b = ws[i * TILE_PITCH + across];
      for (int t = 0; t < 4; t++)
        for (int n = 0; n < 4; n++) sums[t][n] = fused(a[t], b[n], sums[t][n]);
    }
  }

  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const int t = row + down * 4 + i, n = column + across * 4 + j;
      if (t < rows && n < columns) y[long(t) * columns + n] = bias ? sums[i][j] + bias[n] : sums[i][j];
    }
}

} // namespace gpu
} // namespace quern
