// y[r, j, n] = Σ_k x[r, k] · w[ids[r, j], n, k]. a warp per output of dense weights, per four of blocks; streamed as in linear-few.h and block-products.h. A bad id sets the
// fault, and matrix 0 stands in.
#pragma once
#include "block-products.h"
#include "linear-few.h"

namespace quern {
namespace gpu {

template <class Weights>
struct ExpertLinear {
  Global<const float> x; // [rows, depth]
  Weights w;             // [experts, columns, depth]
  Global<const int> ids; // [rows, chosen]
  Global<float> y;       // [rows, chosen, columns]
  int rows, chosen, experts, columns, depth;
  Global<int> fault;
  int op;
};

// The matrix of a pair [row, choice]. All lanes call it.
template <class Weights>
FUNCTION int matrix_of(ExpertLinear<Weights> args, int pair) {
  const int id = args.ids[pair];
  if (id >= 0 && id < args.experts) return id;
  if (lane() == 0) flag(args.fault, args.op, OUT_OF_RANGE);
  return 0;
}

template <class Format>
FUNCTION void expert_linear(ExpertLinear<Dense<Format>> args) {
  const int warps = block_threads() / WARP;
  const long count = long(args.rows) * args.chosen * args.columns;
  for (long i = long(block_index()) * warps + warp(); i < count; i += long(grid_blocks()) * warps) {
    const int pair = int(i / args.columns), n = int(i % args.columns);
    const long matrix = matrix_of(args, pair);
    few_columns<Format, 1, 1, 8>(args.x + long(pair / args.chosen) * args.depth,
                                 args.w.values + matrix * args.columns * args.depth, Global<const float>(),
                                 args.y + long(pair) * args.columns, 1, args.columns, args.depth, n);
  }
}

// Four columns of one pair at a time.
template <class Format>
FUNCTION void expert_blocks(Shared<Float4> staged, Shared<float> partial, ExpertLinear<Planes> args) {
  constexpr int COLUMNS = 4;
  const int tiles = (args.columns + COLUMNS - 1) / COLUMNS, warps = block_threads() / WARP;
  const long count = long(args.rows) * args.chosen * tiles;
  for (long i = long(block_index()) * warps + warp(); i < count; i += long(grid_blocks()) * warps) {
    const int pair = int(i / tiles), first = int(i % tiles) * COLUMNS;
    const long matrix = matrix_of(args, pair);
    const float sum = streamed_columns<Format, 1, COLUMNS>(args.x + long(pair / args.chosen) * args.depth, args.w, 1,
                                                           matrix * args.columns + first, args.columns - first, args.depth, 0, 1,
                                                           staged_of_warp(staged), partial);
    if (lane() < COLUMNS && first + lane() < args.columns) args.y[long(pair) * args.columns + first + lane()] = sum;
  }
}

#define EXPERT_LINEAR(Format, name) \
  KERNEL(expert_linear_##name, ExpertLinear<Dense<Format>>) { expert_linear<Format>(args); }
EVERY_DENSE_FORMAT(EXPERT_LINEAR)
#undef EXPERT_LINEAR

#define EXPERT_BLOCKS(Format, name)                    \
  KERNEL(expert_linear_##name, ExpertLinear<Planes>) { \
    SHARED(Float4, staged, STAGED);                    \
    SHARED(float, partial, PARTIAL_SUMS);              \
    expert_blocks<Format>(staged, partial, args);      \
  }
EVERY_BLOCK_FORMAT(EXPERT_BLOCKS)
#undef EXPERT_BLOCKS

} // namespace gpu
} // namespace quern
