// The pairs [row, choice] of a mixture by expert, in tiles of `height` rows: each tile has pairs of one expert, in ascending order, then
// −1. Two launches with a block per expert: how many pairs each has, then their places. A bad id sets the fault, and expert 0 stands in.
#pragma once
#include "block-integers.h"
#include "fault-code.h"

namespace quern {
namespace gpu {

struct ExpertOrder {
  Global<const int> ids;  // [pairs]
  Global<int> counts;     // [experts]
  Global<int> rows;       // [tiles, height]: pairs
  Global<int> of_tile;    // [tiles]: the expert; −1: there is no such tile
  int pairs, experts, tiles, height;
  Global<int> fault;
  int op;
};

CONSTANT int ORDER_WARPS = 8, ORDER_THREADS = ORDER_WARPS * WARP;

FUNCTION int expert_of(ExpertOrder args, int pair) {
  const int id = args.ids[pair];
  return id >= 0 && id < args.experts ? id : 0;
}

KERNEL(expert_counts, ExpertOrder) {
  SHARED(uint64_t, partial, ORDER_WARPS);
  uint64_t count = 0;
  for (int pair = thread_index(); pair < args.pairs; pair += block_threads()) {
    const int id = args.ids[pair];
    if (id < 0 || id >= args.experts) flag(args.fault, args.op, OUT_OF_RANGE);
    count += expert_of(args, pair) == block_index() ? 1 : 0;
  }
  const RunningSum sum = block_running_sum(count, partial);
  if (thread_index() == 0) args.counts[block_index()] = int(sum.all);
}

KERNEL(expert_order, ExpertOrder) {
  SHARED(uint64_t, partial, ORDER_WARPS);
  const int expert = block_index();
  uint64_t before = 0; // tiles of the experts before this one
  for (int e = thread_index(); e < expert; e += block_threads())
    before += static_cast<uint64_t>((args.counts[e] + args.height - 1) / args.height);
  const int first = int(block_running_sum(before, partial).all), count = args.counts[expert];
  const int last = first + (count + args.height - 1) / args.height, end = expert == args.experts - 1 ? args.tiles : last;

  for (int tile = first + thread_index(); tile < end; tile += block_threads()) args.of_tile[tile] = tile < last ? expert : -1;
  for (int place = first * args.height + count + thread_index(); place < last * args.height; place += block_threads())
    args.rows[place] = -1;
  int place = first * args.height;
  for (int start = 0; start < args.pairs; start += block_threads()) {
    const int pair = start + thread_index();
    const bool mine = pair < args.pairs && expert_of(args, pair) == expert;
    const RunningSum sum = block_running_sum(mine ? 1 : 0, partial);
    if (mine) args.rows[place + int(sum.before)] = pair;
    place += int(sum.all);
  }
}

} // namespace gpu
} // namespace quern
