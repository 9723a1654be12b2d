// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for values of bf16 and many rows, on tensor cores of sm_80 and later. Operands come to
// shared memory by asynchronous copies, STAGES − 1 steps of 64 of k ahead; fragments of the next 16 of k are loaded while the present
// ones are multiplied. One barrier per step. Tensor cores keep the sums: they are cut off once per 16 of k.
#pragma once
#include "../../dialect/async-copies.h"
#include "../../dialect/nvidia.h"
#include "product-operands.h"

namespace quern {
namespace gpu {

// Where eight values of a row are in shared memory: rows that a warp reads together meet no bank twice.
FUNCTION int place_in_step(int row, int eight) { return row * STEP_EIGHTS + (eight ^ row % STEP_EIGHTS); }

// The first row and column of a block's outputs, and its steps of k.
struct BlockOfProduct {
  int row, column, part, first, steps;
};

template <class Tile>
FUNCTION BlockOfProduct block_of_product(const ProductBf16& args, int block) {
  const int down = (args.rows + Tile::rows - 1) / Tile::rows, across = (args.columns + Tile::columns - 1) / Tile::columns;
  const int tile = block % (down * across), part = block / (down * across);
  const int group = tile / (GROUP_OF_ROW_TILES * across), inside = tile % (GROUP_OF_ROW_TILES * across);
  const int left = down - group * GROUP_OF_ROW_TILES, height = left < GROUP_OF_ROW_TILES ? left : GROUP_OF_ROW_TILES;
  const int first = part * args.steps_of_part, steps = (args.depth + STEP - 1) / STEP - first;
  return {(group * GROUP_OF_ROW_TILES + inside % height) * Tile::rows, inside / height * Tile::columns, part, first,
          steps < args.steps_of_part ? steps : args.steps_of_part};
}

// What a thread copies of a step: 16 bytes of every THREADS / STEP_EIGHTS-th of ROWS rows, in halves. Zeros where the matrix or
// the part of k has ended: the loop has no branches.
template <int ROWS, int THREADS>
struct StepCopies {
  static constexpr int BETWEEN = THREADS / STEP_EIGHTS, HALF = ROWS / BETWEEN / 2;
  static_assert(HALF > 0, "a thread has a row for each half");
  Global<const Uint4> from; // of the next step
  int stride;               // Uint4s to the next row of the thread
  int rows, eights;         // that are left, from its first place on

  FUNCTION void begin(Global<const unsigned short> matrix, int pitch, int row, int end, int k, int end_of_k) {
    const int mine = thread_index() / STEP_EIGHTS, at = k + thread_index() % STEP_EIGHTS * 8;
    from = as<const Uint4>(matrix + ((int64_t(row) + mine) * pitch + at));
    stride = BETWEEN * (pitch / 8);
    rows = end - row - mine, eights = (end_of_k - at + 7) / 8;
  }
  FUNCTION void copy(Shared<Uint4> stage, int half) {
    const Shared<Uint4> to = stage + place_in_step(thread_index() / STEP_EIGHTS, thread_index() % STEP_EIGHTS);
    UNROLL for (int j = 0; j < HALF; j++) {
      const int i = half * HALF + j;
      copy_or_zero(to + i * BETWEEN * STEP_EIGHTS, from + int64_t(stride) * i, i * BETWEEN < rows && eights > 0);
    }
    if (half == 1) from = from + STEP_EIGHTS, eights -= STEP_EIGHTS;
  }
};

// 16 of k of a warp's rows of x and of w.
template <class Tile>
struct StepFragments {
  Fragment16x16 x[Tile::down];
  Fragment16x8 w[Tile::across];

  FUNCTION void load(Shared<Uint4> stage, int k) {
    const int row = warp() % Tile::warps_down * Tile::down * 16 + lane() % 16;
    const int column = warp() / Tile::warps_down * Tile::across * 8 + lane() / 16 * 8 + lane() % 8;
    const Shared<Uint4> rows = stage + place_in_step(row, 2 * k + lane() / 16);
    const Shared<Uint4> columns = stage + (Tile::rows * STEP_EIGHTS + place_in_step(column, 2 * k + lane() / 8 % 2));
    UNROLL for (int m = 0; m < Tile::down; m++) x[m] = load_matrices(rows + m * 16 * STEP_EIGHTS);
    UNROLL for (int n = 0; n < Tile::across; n += 2) {
      const Fragment16x16 two = load_matrices(columns + n * 8 * STEP_EIGHTS);
      w[n] = {{two.words[0], two.words[1]}};
      w[n + 1] = {{two.words[2], two.words[3]}};
    }
  }
};

template <class Tile>
struct TileSums {
  Sums16x8 of[Tile::down][Tile::across];
};

template <class Tile>
FUNCTION void multiply_step(TileSums<Tile>& sums, const StepFragments<Tile>& fragments) {
  UNROLL for (int m = 0; m < Tile::down; m++)
    UNROLL for (int n = 0; n < Tile::across; n++) multiply_bf16(sums.of[m][n], fragments.x[m], fragments.w[n]);
}

// bias: from the lane's first column on; columns: that are left there.
template <class Tile>
FUNCTION void add_bias(TileSums<Tile>& sums, Global<const float> bias, int columns) {
  UNROLL for (int n = 0; n < Tile::across; n++) {
    const float first = n * 8 < columns ? float(bias[n * 8]) : 0.0f, second = n * 8 + 1 < columns ? float(bias[n * 8 + 1]) : 0.0f;
    UNROLL for (int m = 0; m < Tile::down; m++)
      UNROLL for (int i = 0; i < 4; i++) sums.of[m][n].values[i] += i % 2 == 0 ? first : second;
  }
}

// A lane's outputs of one of its rows, by stores of 8 bytes.
template <class Tile>
FUNCTION void store_whole_row(Global<float> y, const TileSums<Tile>& sums, int m, int half) {
  UNROLL for (int n = 0; n < Tile::across; n++) {
    const Sums16x8& of = sums.of[m][n];
    as<uint64_t>(y + n * 8)[0] =
        to_bits(of.values[2 * half]) | static_cast<uint64_t>(to_bits(of.values[2 * half + 1])) << 32;
  }
}
// Its first `columns` places.
template <class Tile>
FUNCTION void store_part_of_row(Global<float> y, const TileSums<Tile>& sums, int m, int half, int columns) {
  UNROLL for (int n = 0; n < Tile::across; n++)
    UNROLL for (int i = 0; i < 2; i++)
      if (n * 8 + i < columns) y[n * 8 + i] = sums.of[m][n].values[2 * half + i];
}

template <class Tile>
FUNCTION void store_tile(const ProductBf16& args, TileSums<Tile>& sums, BlockOfProduct block) {
  const int row = block.row + warp() % Tile::warps_down * Tile::down * 16 + lane() / 4;
  const int column = block.column + warp() / Tile::warps_down * Tile::across * 8 + lane() % 4 * 2;
  const bool pairs = args.y_pitch % 2 == 0 && args.part_pitch % 2 == 0 && aligned(args.y);
  const bool whole = pairs && block.column + Tile::columns <= args.columns;
  const Global<float> y = args.y + (block.part * args.part_pitch + int64_t(row) * args.y_pitch + column);
  if (args.bias) add_bias<Tile>(sums, args.bias + column, args.columns - column);
  UNROLL for (int m = 0; m < Tile::down; m++)
    UNROLL for (int half = 0; half < 2; half++) {
      const int below = m * 16 + half * 8;
      if (row + below >= args.rows) continue;
      const Global<float> to = y + int64_t(args.y_pitch) * below;
      if (whole) store_whole_row<Tile>(to, sums, m, half);
      else store_part_of_row<Tile>(to, sums, m, half, args.columns - column);
    }
}

// A stage of a ring.
template <class Tile>
FUNCTION Shared<Uint4> stage_at(Shared<Uint4> stages, int stage) { return stages + stage * Tile::stage; }
template <class Tile>
FUNCTION int stage_after(int stage) { return stage + 1 == Tile::stages ? 0 : stage + 1; }

template <class Tile>
FUNCTION void product_bf16(Shared<Uint4> stages, const ProductBf16& args) {
  constexpr int AHEAD = Tile::stages - 1;
  const BlockOfProduct block = block_of_product<Tile>(args, block_index());
  StepCopies<Tile::rows, Tile::threads> x;
  StepCopies<Tile::columns, Tile::threads> w;
  const int first = block.first * STEP, end = first + block.steps * STEP;
  x.begin(args.x, args.x_pitch, block.row, args.rows, first, end);
  w.begin(args.w, args.w_pitch, block.column, args.columns, first, end < args.depth ? end : args.depth);
  const auto copy = [&](int stage, int half) {
    x.copy(stage_at<Tile>(stages, stage), half);
    w.copy(stage_at<Tile>(stages, stage) + Tile::rows * STEP_EIGHTS, half);
    if (half == 1) copies_commit();
  };
  UNROLL for (int step = 0; step < AHEAD; step++)
    UNROLL for (int half = 0; half < 2; half++) copy(step, half);
  copies_wait<AHEAD - 1>();
  barrier();

  TileSums<Tile> sums = {};
  StepFragments<Tile> fragments[2];
  fragments[0].load(stages, 0);
  int read = 0, write = AHEAD; // stages
  for (int step = 0; step < block.steps; step++) {
    UNROLL for (int k = 0; k < STEP / 16; k++) {
      if (k == 3) {
        copies_wait<AHEAD - 1>(); // the next step is here, and this one has been read
        barrier();
        read = stage_after<Tile>(read);
      }
      fragments[(k + 1) % 2].load(stage_at<Tile>(stages, read), (k + 1) % 4);
      if (k < 2) copy(write, k); // early: they have until the end of the next step
      multiply_step<Tile>(sums, fragments[k % 2]);
    }
    write = stage_after<Tile>(write);
  }
  copies_wait<0>();
  store_tile<Tile>(args, sums, block);
}

#define PRODUCT_BF16(name, Tile)                                                \
  KERNEL_OF(product_bf16_##name, ProductBf16, Tile::threads, Tile::blocks) {    \
    LARGE_SHARED(Uint4, stages, Tile::stages * Tile::stage);                    \
    product_bf16<Tile>(stages, args);                                           \
  }
PRODUCT_BF16(128x256, Bf16Tile128x256)
PRODUCT_BF16(128x128, Bf16Tile128x128)
PRODUCT_BF16(64x64, Bf16Tile64x64)
#undef PRODUCT_BF16

// The first four of the columns that are left.
FUNCTION Float4 four_sums(Global<const float> sums, int columns) {
  if (columns >= 4) return as<const Float4>(sums)[0];
  return Float4{sums[0], columns > 1 ? float(sums[1]) : 0.0f, columns > 2 ? float(sums[2]) : 0.0f, 0.0f};
}

// A thread per four columns.
KERNEL(product_parts, ProductParts) {
  const int64_t count = int64_t(args.rows) * args.fours, threads = int64_t(grid_blocks()) * block_threads();
  for (int64_t i = int64_t(block_index()) * block_threads() + thread_index(); i < count; i += threads) {
    const int row = int(i / args.fours), column = int(i % args.fours) * 4;
    float total[4] = {};
    for (int p = 0; p < args.parts; p++) {
      const Float4 sums = four_sums(args.sums + (p * count + i) * 4, args.columns - column);
      UNROLL for (int j = 0; j < 4; j++) total[j] += sums[j];
    }
    UNROLL for (int j = 0; j < 4; j++)
      if (column + j < args.columns)
        args.y[int64_t(row) * args.y_pitch + column + j] = args.bias ? total[j] + args.bias[column + j] : total[j];
  }
}

} // namespace gpu
} // namespace quern
