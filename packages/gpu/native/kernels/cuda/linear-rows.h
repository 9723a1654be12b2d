// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for 3 to 128 rows of x, of up to three matrices, on tensor cores. x and w are rounded to bf16.
// Of mixtures: a tile of 16 rows has pairs of one expert, whose weights it reads once. A warp has 16 · DOWN rows and 32 columns. Weights go from loads into fragments in registers: no shared memory, no barrier until the
// end. ACROSS warps of a block have neighbouring columns and share x through the cache; the others, and the blocks of `parts`, share K:
// they take its chunks in turn. Sums over them are in a fixed order.
#pragma once
#include "../../dialect/nvidia.h"
#include "lane-weights.h"

namespace quern {
namespace gpu {

template <int DOWN>
struct RowTotals {
  Sums16x8 of[DOWN][ROW_EIGHTS];
};

// 32 of k of the rows of a warp, by product.
template <int DOWN>
struct RowStep {
  Fragment16x16 of[DOWN][2];

  // place: of the lane in a step.
  FUNCTION void load(Global<const Uint4> x, int tiles, int place, int step) {
    const Global<const Uint4> mine = x + (step * tiles * 2 * WARP + place);
    UNROLL for (int m = 0; m < DOWN; m++)
      UNROLL for (int product = 0; product < 2; product++) {
        const Uint4 words = mine[(m * 2 + product) * WARP];
        of[m][product] = {{words[0], words[1], words[2], words[3]}};
      }
  }
};

template <int DOWN>
FUNCTION void multiply_step(RowTotals<DOWN>& totals, int eight, const RowStep<DOWN>& x, const LaneFragments& w) {
  UNROLL for (int product = 0; product < 2; product++) {
    const Fragment16x8 b = {{w.words[2 * product], w.words[2 * product + 1]}};
    UNROLL for (int m = 0; m < DOWN; m++) multiply_bf16(totals.of[m][eight], x.of[m][product], b);
  }
}

// Where a lane reads: 16 · DOWN rows of x from `place` of a step on, columns of a matrix from `column` on, one in eight, chunks first,
// first + apart, … below `end`.
struct RowShare {
  int place, matrix, column, first, apart, end;
  int expert;
};

// A chunk of the columns of a lane. Columns beyond the last one get its weights.
template <class Weights>
struct LaneColumns {
  LaneWeights<Weights> of[ROW_EIGHTS];

  FUNCTION void load(const RowLinear<Weights>& args, RowShare share, int chunk) {
    const FewMatrix<Weights>& matrix = args.matrices[share.matrix];
    const int of_row = args.depth / 8, mine = share.column + lane() / 4, last = matrix.columns - 1, first = share.expert * matrix.columns;
    UNROLL for (int n = 0; n < ROW_EIGHTS; n++)
      of[n].load(matrix.w, (first + (mine + n * 8 < last ? mine + n * 8 : last)) * of_row, of_row, chunk);
  }
};

// The sums of a warp. SLOTS chunks of weights, and the next step's x, are loaded before the present ones are multiplied.
template <int DOWN, class Weights>
FUNCTION RowTotals<DOWN> row_totals(const RowLinear<Weights>& args, RowShare share) {
  using Lane = LaneWeights<Weights>;
  constexpr int SLOTS = Lane::SLOTS;
  RowTotals<DOWN> totals = {};
  if (share.first >= share.end) return totals;
  LaneColumns<Weights> slots[SLOTS];
  RowStep<DOWN> x = {};
  UNROLL for (int s = 0; s < SLOTS; s++) slots[s].load(args, share, share.first + s * share.apart);
  x.load(args.x, args.tiles, share.place, share.first * Lane::STEPS);
  for (int from = share.first; from < share.end; from += SLOTS * share.apart)
    UNROLL for (int s = 0; s < SLOTS; s++) {
      const int chunk = from + s * share.apart;
      if (chunk >= share.end) break;
      const LaneColumns<Weights> present = slots[s];
      slots[s].load(args, share, chunk + SLOTS * share.apart);
      UNROLL for (int step = 0; step < Lane::STEPS; step++) {
        const int at = chunk * Lane::STEPS + step, next = step + 1 < Lane::STEPS ? at + 1 : (chunk + share.apart) * Lane::STEPS;
        const RowStep<DOWN> of_step = x;
        x.load(args.x, args.tiles, share.place, next < share.end * Lane::STEPS ? next : at);
        UNROLL for (int n = 0; n < ROW_EIGHTS; n++) multiply_step(totals, n, of_step, present.of[n].fragments(step));
      }
    }
  return totals;
}

// Sums over the ways of a block, in their order, in merged: [across, sums, WARP]; it has room for ways − 1 of them.
template <int DOWN>
FUNCTION void merge_ways(const RowTotals<DOWN>& totals, Shared<float> merged, int way, int across) {
  using Has = RowBlock<DOWN>;
  const auto place = [&](int of_way, int i) { return (((of_way - 1) * Has::across + across) * Has::sums + i) * WARP + lane(); };
  const auto total = [&](int i) { return totals.of[i / 4 / ROW_EIGHTS][i / 4 % ROW_EIGHTS].values[i % 4]; };
  if (way > 0) UNROLL for (int i = 0; i < Has::sums; i++) merged[place(way, i)] = total(i);
  barrier();
  if (way == 0)
    UNROLL for (int i = 0; i < Has::sums; i++) {
      float sum = total(i);
      UNROLL for (int other = 1; other < Has::ways; other++) sum += merged[place(other, i)];
      merged[place(1, i)] = sum;
    }
  barrier();
}

// Blocks of a matrix: rows change first, so that blocks which read the same weights run at the same time; then parts, then columns.
struct BlockShare {
  int matrix, tile, part, column;
};

// With gate and up a block has the same columns of both: half of its warps across have up's.
template <int DOWN, class Weights>
FUNCTION BlockShare share_of_block(const RowLinear<Weights>& args) {
  constexpr int COLUMNS = RowBlock<DOWN>::columns;
  const int first = args.matrices[0].end, second = args.matrices[1].end;
  const int matrix = block_index() < first ? 0 : block_index() < second ? 1 : 2;
  const int block = block_index() - (matrix == 0 ? 0 : matrix == 1 ? first : second), heights = args.tiles / DOWN;
  return {matrix, block % heights * DOWN, block / heights % args.parts, block / heights / args.parts * (args.gated ? COLUMNS / 2 : COLUMNS)};
}

// y: of this part; with a bias if there is one part. A warp writes what one register of a warp had: not unrolled, for registers would make
// it most of the kernel. The share is found again: kept through the products, it would spill.
template <int DOWN, class Weights>
FUNCTION void write_sums(Shared<float> merged, const RowLinear<Weights>& args) {
  using Has = RowBlock<DOWN>;
  const BlockShare block = share_of_block<DOWN>(args);
  const FewMatrix<Weights>& matrix = args.matrices[block.matrix];
  const int pitch = args.pitch ? args.pitch : matrix.columns, count = (args.gated ? Has::across / 2 : Has::across) * Has::sums;
  const Global<float> y = matrix.y + int64_t(block.part) * args.rows * pitch;
  for (int at = warp(); at < count; at += Has::across * Has::ways) {
    const int i = at % Has::sums, m = i / 4 / ROW_EIGHTS, n = at / Has::sums * ROW_EIGHTS + i / 4 % ROW_EIGHTS;
    const int row = row_of_tiles(args.experts, args.rows, (block.tile + m) * 16 + i % 4 / 2 * 8 + lane() / 4), to = block.column + n * 8 + lane() % 4 * 2 + i % 2;
    if (row < 0 || to >= matrix.columns) continue;
    float sum = merged[at * WARP + lane()];
    if (args.gated) sum = silu_of(sum) * merged[(at + count) * WARP + lane()];
    else if (matrix.bias) sum += matrix.bias[to];
    y[int64_t(row) * pitch + to] = sum;
  }
}

template <int DOWN, class Weights>
FUNCTION void linear_rows(Shared<float> merged, const RowLinear<Weights>& args) {
  using Has = RowBlock<DOWN>;
  constexpr int OF_CHUNK = LaneWeights<Weights>::STEPS * 32;
  const BlockShare block = share_of_block<DOWN>(args);
  const int expert = DOWN == 1 && args.experts.rows ? args.experts.of_tile[block.tile] : 0; // −1: there is no such tile
  if (expert < 0) return;
  const int across = warp() % Has::across, way = warp() / Has::across, chunks = (args.depth + OF_CHUNK - 1) / OF_CHUNK;
  const bool up = args.gated && across >= Has::across / 2;
  const RowShare share = {block.tile * 2 * WARP + lane(), up ? 1 : block.matrix,
                          block.column + (up ? across - Has::across / 2 : across) * ROW_COLUMNS, block.part * Has::ways + way, args.parts * Has::ways, chunks, expert};
  merge_ways(row_totals<DOWN>(args, share), merged, way, across);
  write_sums<DOWN>(merged, args);
}

#define LINEAR_ROWS(rows, Weights, name)                                                                                     \
  KERNEL_OF(linear_rows_##rows##_##name, RowLinear<Weights>, RowBlock<rows / 16>::threads, RowBlock<rows / 16>::blocks) {    \
    using Has = RowBlock<rows / 16>;                                                                                         \
    SHARED(float, merged, (Has::ways - 1) * Has::across * Has::sums * WARP);                                                 \
    linear_rows<rows / 16>(merged, args);                                                                                    \
  }
#define LINEAR_OF_ROWS(Weights, name) \
  LINEAR_ROWS(16, Weights, name)      \
  LINEAR_ROWS(32, Weights, name)      \
  LINEAR_ROWS(64, Weights, name)
#define LINEAR_OF_BLOCKS(Format, name) LINEAR_OF_ROWS(Blocks<Format>, name)
EVERY_BLOCK_FORMAT(LINEAR_OF_BLOCKS)
LINEAR_OF_ROWS(Dense<F16>, f16)
LINEAR_OF_ROWS(Dense<Bf16>, bf16)
#undef LINEAR_OF_BLOCKS
#undef LINEAR_OF_ROWS
#undef LINEAR_ROWS

} // namespace gpu
} // namespace quern
