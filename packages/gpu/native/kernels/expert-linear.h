// y[r, j, n] = Σ_k x[r, k] · w[ids[r, j], n, k]; with two weights, gate and up: silu(gate · x) · (up · x). A warp per output of dense
// weights, per four of blocks (two with gate and up); streamed as in linear-few.h and block-products.h. A bad id sets the fault, and
// matrix 0 stands in.
#pragma once
#include "block-products.h"
#include "fault-code.h"
#include "linear-few.h"

namespace quern {
namespace gpu {

// Pairs of a row and an expert.
struct ExpertPairs {
  Global<const float> x; // [rows, depth]
  Global<const int> ids; // [rows, chosen]
  Global<float> y;       // [rows, chosen, columns]
  int rows, chosen, experts, columns, depth;
  Global<int> fault;
  int op;
};

template <class Weights>
struct ExpertLinear {
  ExpertPairs of;
  Weights w; // [experts, columns, depth]
};

template <class Weights>
struct ExpertGateUp {
  ExpertPairs of;
  Weights gate, up; // [experts, columns, depth]
};

// COLUMNS outputs of a warp: the pair, its row of x, the first column, and that column's row among those of all experts.
struct ExpertShare {
  int pair, first;
  Global<const float> x;
  int64_t row_of_w;
};

// All lanes call it.
FUNCTION int expert_of(ARGUMENTS const ExpertPairs& of, int pair) {
  const int id = of.ids[pair];
  if (id >= 0 && id < of.experts) return id;
  if (lane() == 0) flag(of.fault, of.op, OUT_OF_RANGE);
  return 0;
}

// The warps of the grid share all outputs, `width` at a time.
struct ExpertWalk {
  int width, tiles; // tiles: of a pair
  int64_t i, count, step;
};

FUNCTION ExpertWalk walk_of_warp(ARGUMENTS const ExpertPairs& of, int width) {
  const int tiles = (of.columns + width - 1) / width, warps = block_threads() / WARP;
  return {width, tiles, int64_t(block_index()) * warps + warp(), int64_t(of.rows) * of.chosen * tiles, int64_t(grid_blocks()) * warps};
}

FUNCTION ExpertShare share_at(ARGUMENTS const ExpertPairs& of, ExpertWalk walk) {
  const int pair = int(walk.i / walk.tiles), first = int(walk.i % walk.tiles) * walk.width;
  return {pair, first, of.x + int64_t(pair / of.chosen) * of.depth, int64_t(expert_of(of, pair)) * of.columns + first};
}

template <class Format>
FUNCTION void expert_dense(ARGUMENTS const ExpertLinear<Dense<Format>>& args) {
  const ExpertPairs of = args.of;
  for (ExpertWalk walk = walk_of_warp(of, 1); walk.i < walk.count; walk.i += walk.step) {
    const ExpertShare share = share_at(of, walk);
    const Streams<Format, 1> w = {{args.w.values + share.row_of_w * of.depth}};
    const float sum = few_columns<Format, 1, 1, 8>(share.x, w, 1, of.depth);
    if (lane() == 0) of.y[int64_t(share.pair) * of.columns + share.first] = sum;
  }
}

template <class Format>
FUNCTION void expert_gated_dense(ARGUMENTS const ExpertGateUp<Dense<Format>>& args) {
  const ExpertPairs of = args.of;
  for (ExpertWalk walk = walk_of_warp(of, 1); walk.i < walk.count; walk.i += walk.step) {
    const ExpertShare share = share_at(of, walk);
    const int64_t at = share.row_of_w * of.depth;
    const Streams<Format, 2> w = {{args.gate.values + at, args.up.values + at}};
    const float sum = few_columns<Format, 1, 2, 4>(share.x, w, 1, of.depth);
    put_gated<1>(sum, of.y + int64_t(share.pair) * of.columns, 1, of.columns, share.first);
  }
}

template <class Format>
FUNCTION void expert_blocks(Shared<Float4> staged, Shared<float> partial, ARGUMENTS const ExpertLinear<Planes>& args) {
  constexpr int COLUMNS = 4;
  const ExpertPairs of = args.of;
  for (ExpertWalk walk = walk_of_warp(of, COLUMNS); walk.i < walk.count; walk.i += walk.step) {
    const ExpertShare share = share_at(of, walk);
    const PlaneRows w = {args.w, share.row_of_w, of.columns - share.first};
    const float sum = streamed_columns<Format, 1, COLUMNS>(share.x, w, 1, of.depth, 0, 1, staged, partial);
    const int n = share.first + lane();
    if (lane() < COLUMNS && n < of.columns) of.y[int64_t(share.pair) * of.columns + n] = sum;
  }
}

template <class Format>
FUNCTION void expert_gated_blocks(Shared<Float4> staged, Shared<float> partial, ARGUMENTS const ExpertGateUp<Planes>& args) {
  constexpr int PAIRS = 2;
  const ExpertPairs of = args.of;
  for (ExpertWalk walk = walk_of_warp(of, PAIRS); walk.i < walk.count; walk.i += walk.step) {
    const ExpertShare share = share_at(of, walk);
    const PairedPlaneRows<PAIRS> w = {args.gate, args.up, share.row_of_w, of.columns - share.first};
    const float sum = streamed_columns<Format, 1, 2 * PAIRS>(share.x, w, 1, of.depth, 0, 1, staged, partial);
    put_gated<PAIRS>(sum, of.y + int64_t(share.pair) * of.columns, 1, of.columns, share.first);
  }
}

#define EXPERT_DENSE(Format, name)                                                               \
  KERNEL(expert_linear_##name, ExpertLinear<Dense<Format>>) { expert_dense<Format>(args); }      \
  KERNEL(expert_gate_up_##name, ExpertGateUp<Dense<Format>>) { expert_gated_dense<Format>(args); }
EVERY_DENSE_FORMAT(EXPERT_DENSE)
#undef EXPERT_DENSE

#define EXPERT_PRODUCT(name, Args, product, Format) \
  KERNEL(name, Args) {                              \
    SHARED(Float4, staged, Staged<1>::count);       \
    SHARED(float, partial, PARTIAL_SUMS);           \
    product<Format>(staged, partial, args);         \
  }
#define EXPERT_BLOCKS(Format, name)                                                        \
  EXPERT_PRODUCT(expert_linear_##name, ExpertLinear<Planes>, expert_blocks, Format)        \
  EXPERT_PRODUCT(expert_gate_up_##name, ExpertGateUp<Planes>, expert_gated_blocks, Format)
EVERY_BLOCK_FORMAT(EXPERT_BLOCKS)
#undef EXPERT_BLOCKS
#undef EXPERT_PRODUCT

} // namespace gpu
} // namespace quern
