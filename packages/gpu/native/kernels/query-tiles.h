// Tiles of attention for sequences of many rows: some rows of a sequence, one head, and the keys that they see.
#pragma once
#include "attention.h"
#include "uncached-attention.h"

namespace quern {
namespace gpu {

// Where keys and values come from: the keys of a sequence, and whether all those of the batch, and of a range, are there.
template <class CacheKind>
struct FromCache {
  using Args = Attention;
  using Kind = CacheKind;
  static FUNCTION int length(ARGUMENTS const Args& args, int s) { return args.lengths[s]; }
  static FUNCTION CachedKeys<Kind> keys(ARGUMENTS const Args& args, int s, int kv_head) {
    return {args.k, args.v, args.table + int64_t(s) * args.table_width, args.block_size, args.kv_heads, kv_head, Kind::bytes(args.d)};
  }
  static FUNCTION bool batch_holds(ARGUMENTS const Args& args, Shared<float> sums) { return lengths_fit(args, sums); }
  static FUNCTION bool range_holds(ARGUMENTS const Args& args, int s, KeyRange range, Shared<float> sums) {
    const int block = range.first / args.block_size, blocks = (range.end + args.block_size - 1) / args.block_size - block;
    return blocks_exist(args.table + (int64_t(s) * args.table_width + block), blocks, args.blocks, sums);
  }
};
struct FromArrays {
  using Args = UncachedAttention;
  using Kind = CacheF32;
  static FUNCTION int length(ARGUMENTS const Args& args, int s) { return args.key_bounds[s + 1] - args.key_bounds[s]; }
  static FUNCTION StepKeys keys(ARGUMENTS const Args& args, int s, int kv_head) { return step_keys(args, s, kv_head); }
  static FUNCTION bool batch_holds(ARGUMENTS const Args& args, Shared<float> sums) { return step_holds(args, sums); }
  static FUNCTION bool range_holds(ARGUMENTS const Args&, int, KeyRange, Shared<float>) { return true; }
};

// ROWS rows of a sequence, or fewer, and the keys that one of them sees at least.
struct QueryTile {
  int sequence, row, rows; // sequence −1: there is no such tile
  KeyRange keys;
};

template <int ROWS>
FUNCTION QueryTile query_tile(int tile, Global<const int> bounds, int sequences) {
  for (int s = 0; s < sequences; s++) {
    const int first = bounds[s], rows = bounds[s + 1] - first, tiles = (rows + ROWS - 1) / ROWS;
    const int left = rows - tile * ROWS;
    if (tile < tiles) return {s, first + tile * ROWS, left < ROWS ? left : ROWS, {0, 0}};
    tile -= tiles;
  }
  return {-1, 0, 0, {0, 0}};
}

// Tiles run from the last to the first: with causal attention those of a sequence have fewer and fewer keys, and none with many is left
// when the others are done.
FUNCTION int tile_of_block(int block, int blocks, int heads) { return (blocks - 1 - block) / heads; }

// The tile of a block, if the batch is right; else a flag, and no tile. A block per tile and head; grids may have tiles too many: their
// number depends on the sequences. sums: 4 per warp.
template <int ROWS, class Source>
FUNCTION QueryTile checked_tile(ARGUMENTS const typename Source::Args& args, Shared<float> sums) {
  const int warps = block_threads() / WARP;
  bool right = bounds_rise(args.bounds, args.sequences, args.rows, sums) && Source::batch_holds(args, sums + warps);
  QueryTile tile = {-1, 0, 0, {0, 0}};
  if (right) {
    tile = query_tile<ROWS>(tile_of_block(block_index(), grid_blocks(), args.heads), args.bounds, args.sequences);
    if (tile.sequence < 0) return tile;
    const int length = Source::length(args, tile.sequence), position = length - args.bounds[tile.sequence + 1] + tile.row;
    tile.keys = {first_key(position, args.window), args.causal ? position + tile.rows : length};
    right = Source::range_holds(args, tile.sequence, tile.keys, sums + 3 * warps);
  }
  if (!right) {
    flag_batch(args);
    tile.sequence = -1;
  }
  return tile;
}

} // namespace gpu
} // namespace quern
