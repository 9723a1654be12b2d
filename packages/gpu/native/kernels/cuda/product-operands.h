// Operands of products of many rows with values of bf16, and the tiles of their kernels: for kernels, and for code that launches them.
#pragma once
#include "../../dialect/dialect.h"

namespace quern {
namespace gpu {

// Rows of a matrix as bf16, rounded to nearest, zeros behind their end.
template <class Matrix>
struct Bf16Rows {
  Matrix matrix;                 // [.., depth]
  Global<unsigned short> values; // bf16 [rows, pitch]
  int first, depth, pitch;       // first: row of the matrix. pitch: a multiple of 8
};

constexpr int STEP = 64, STEP_EIGHTS = STEP / 8; // of k; 16 bytes of a row
constexpr int GROUP_OF_ROW_TILES = 8;            // blocks that run together share rows of x and columns of w in the second cache

struct ProductBf16 {
  Global<const unsigned short> x; // bf16 [rows, x_pitch]; x_pitch ≥ depth rounded up to STEP, zeros from depth on
  Global<const unsigned short> w; // bf16 [columns, w_pitch]
  Global<const float> bias;       // [columns], or null
  Global<float> y;                // [parts, rows, y_pitch]
  int rows, columns, depth;       // depth: a multiple of 8
  int x_pitch, w_pitch, y_pitch;  // the first two: multiples of 8
  int steps_of_part;              // k is split: sums of this many steps each
  int64_t part_pitch;             // floats from a part of y to the next
};

// A block's outputs and how its warps share them. BLOCKS: that must fit on a processor.
template <int ROWS, int COLUMNS, int WARPS_DOWN, int WARPS_ACROSS, int STAGES, int BLOCKS>
struct Bf16Tile {
  enum {
    rows = ROWS, columns = COLUMNS, warps_down = WARPS_DOWN, stages = STAGES, blocks = BLOCKS,
    threads = WARPS_DOWN * WARPS_ACROSS * WARP,
    down = ROWS / WARPS_DOWN / 16, across = COLUMNS / WARPS_ACROSS / 8, // outputs of a warp, in 16 × 8
    stage = (ROWS + COLUMNS) * STEP_EIGHTS,                             // Uint4s
    shared_bytes = STAGES * stage * 16
  };
};
using Bf16Tile128x256 = Bf16Tile<128, 256, 2, 4, 3, 1>;
using Bf16Tile128x128 = Bf16Tile<128, 128, 2, 4, 3, 1>;
using Bf16Tile64x64 = Bf16Tile<64, 64, 2, 2, 4, 3>;

// y[t, n] = Σ_p sums[p, t, n] + bias[n], in order.
struct ProductParts {
  Global<const float> sums;  // [parts, rows, 4 · fours]
  Global<const float> bias;  // [columns], or null
  Global<float> y;           // [rows, y_pitch]
  int parts, rows, columns, fours, y_pitch;
};

} // namespace gpu
} // namespace quern
