// Attention over keys and values of the same step: a ragged batch. A block per row and tile of heads. A row's bits depend on the
// number of threads, not on other rows.
#pragma once
#include "attention.h"

namespace quern {
namespace gpu {

struct UncachedAttention {
  Global<const float> q;                // [rows, heads, d]
  Global<const float> k, v;             // [keys, kv_heads, d]
  Global<const int> bounds, key_bounds; // cuSeqlens and cuKeys [sequences + 1]
  Global<float> y;                      // [rows, heads, d]
  int rows, keys, heads, kv_heads, d, sequences;
  float scale, soft_cap;
  int causal, window;
  Global<int> fault;
  int op;
};

struct StepKeys {
  using Kind = CacheF32;
  Global<const Byte> k, v; // of the sequence
  int kv_heads, kv_head, bytes;

  FUNCTION int64_t head(int key) const { return (int64_t(key) * kv_heads + kv_head) * bytes; }
};

// Whether each sequence with rows has a key, and as many keys as rows if rows have positions.
template <class Args>
FUNCTION bool keys_suffice(ARGUMENTS const Args& args, Shared<float> sums) {
  float wrong = 0;
  for (int s = thread_index(); s < args.sequences; s += block_threads()) {
    const int rows = args.bounds[s + 1] - args.bounds[s], keys = args.key_bounds[s + 1] - args.key_bounds[s];
    const bool placed = args.causal || args.window > 0;
    wrong += keys < (placed || rows < 1 ? rows : 1) ? 1.0f : 0.0f;
  }
  return block_sum(wrong, sums) == 0;
}

// Whether keys are there for all rows. sums: 2 per warp.
FUNCTION bool step_holds(ARGUMENTS const UncachedAttention& args, Shared<float> sums) {
  return bounds_rise(args.key_bounds, args.sequences, args.keys, sums) && keys_suffice(args, sums + ATTENTION_WARPS);
}

FUNCTION StepKeys step_keys(ARGUMENTS const UncachedAttention& args, int s, int kv_head) {
  const int64_t first = int64_t(args.key_bounds[s]) * args.kv_heads * args.d;
  return {as<const Byte>(args.k + first), as<const Byte>(args.v + first), args.kv_heads, kv_head, CacheF32::bytes(args.d)};
}

KERNEL(uncached_attention, UncachedAttention) {
  SHARED(float, sums, 4 * ATTENTION_WARPS);
  SHARED(float, parts, ATTENTION_FLOATS);
  const bool right = bounds_rise(args.bounds, args.sequences, args.rows, sums) &&
                     step_holds(args, sums + ATTENTION_WARPS);
  if (!right) return flag_batch(args);
  const HeadTile tile = head_tile(block_index(), args.heads, args.kv_heads, args.d);
  const int s = sequence_of(tile.row, args.bounds, args.sequences, sums + 3 * ATTENTION_WARPS);
  const int length = args.key_bounds[s + 1] - args.key_bounds[s], position = length - args.bounds[s + 1] + tile.row;
  const int64_t at = (int64_t(tile.row) * args.heads + tile.first) * args.d;
  attend(step_keys(args, s, tile.kv_head), first_key(position, args.window), args.causal ? position + 1 : length, args.q + at, Whole{args.y + at}, tile.count,
         args.d, ScoreRule{args.scale, args.soft_cap}, parts);
}

} // namespace gpu
} // namespace quern
