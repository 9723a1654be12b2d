// Attention over a cache: a ragged batch, blocks of any size (docs/architecture.md, section 6). A block per row, tile of heads that
// share a key head, and part of the keys. A row's bits depend on the number of threads and of parts, not on other rows.
#pragma once
#include "attend.h"
#include "block-max.h"
#include "fault-code.h"

namespace quern {
namespace gpu {

struct Attention {
  Global<const float> q;                    // [rows, heads, d]
  Global<const Byte> k, v;                  // [blocks, block_size, kv_heads, d]: cache.h
  Global<const int> bounds, lengths, table; // cuSeqlens [sequences + 1], kvLengths [sequences], blockTable [sequences, table_width]
  Global<float> y;                          // [rows, heads, d]
  Global<float> partial;                    // [rows, heads, parts, d + 2], if they are merged
  Global<int> filled;                       // [rows, heads], likewise: parts that have keys, the first ones
  int parts, least_keys;                    // of a part, at least
  int merged;                               // the result is parts, for attention_merge: there are several, or sinks
  int rows, heads, kv_heads, d;
  int blocks, block_size, sequences, table_width;
  float scale, soft_cap;
  int causal, window;
  Global<int> fault;
  int op;
};

template <class CacheKind>
struct CachedKeys {
  using Kind = CacheKind;
  Global<const Byte> k, v;
  Global<const int> table; // of the sequence
  int block_size, kv_heads, kv_head, bytes;

  FUNCTION int slot(int key) const { return table[key / block_size] * block_size + key % block_size; }
  FUNCTION int64_t head(int key) const { return (int64_t(slot(key)) * kv_heads + kv_head) * bytes; }
};

// The sequence of a row: those that end before it are counted. The bounds never fall.
FUNCTION int sequence_of(int row, Global<const int> bounds, int sequences, Shared<float> sums) {
  float before = 0;
  for (int s = thread_index(); s < sequences; s += block_threads()) before += bounds[s + 1] <= row ? 1.0f : 0.0f;
  return int(block_sum(before, sums));
}

// Whether bounds rise from 0 to `rows`.
FUNCTION bool bounds_rise(Global<const int> bounds, int sequences, int rows, Shared<float> sums) {
  float wrong = bounds[0] != 0 || bounds[sequences] != rows ? 1.0f : 0.0f;
  for (int s = thread_index(); s < sequences; s += block_threads()) wrong += bounds[s] > bounds[s + 1] ? 1.0f : 0.0f;
  return block_sum(wrong, sums) == 0;
}

// Whether a sequence has as many keys as rows, and they fit into its blocks.
template <class Args>
FUNCTION bool length_fits(ARGUMENTS const Args& args, int first, int end, int length) {
  return int64_t(end) - first <= length && length <= int64_t(args.table_width) * args.block_size;
}

// The same of every sequence.
template <class Args>
FUNCTION bool lengths_fit(ARGUMENTS const Args& args, Shared<float> sums) {
  float wrong = 0;
  for (int s = thread_index(); s < args.sequences; s += block_threads())
    wrong += length_fits(args, args.bounds[s], args.bounds[s + 1], args.lengths[s]) ? 0.0f : 1.0f;
  return block_sum(wrong, sums) == 0;
}

// Whether `count` blocks of a table are blocks of the cache.
FUNCTION bool blocks_exist(Global<const int> table, int count, int blocks, Shared<float> sums) {
  float wrong = 0;
  for (int b = thread_index(); b < count; b += block_threads()) wrong += table[b] < 0 || table[b] >= blocks ? 1.0f : 0.0f;
  return block_sum(wrong, sums) == 0;
}

// Sequences that `before` counts, those first in the batch; −1 if bounds do not rise or lengths do not fit. Each warp counts by itself:
// nothing waits for others, and each number is read once.
template <class Args, class Before>
FUNCTION int checked_sequence(ARGUMENTS const Args& args, Before before) {
  float wrong = args.bounds[0] != 0 || args.bounds[args.sequences] != args.rows ? 1.0f : 0.0f, counted = 0;
  for (int s = lane(); s < args.sequences; s += WARP) {
    const int first = args.bounds[s], end = args.bounds[s + 1], length = args.lengths[s];
    wrong += first > end || !length_fits(args, first, end, length) ? 1.0f : 0.0f;
    counted += before.counts(s, end) ? 1.0f : 0.0f;
  }
  wrong = warp_sum(wrong), counted = warp_sum(counted);
  return wrong == 0 ? int(counted) : -1;
}

struct EndsBefore {
  int row;
  FUNCTION bool counts(int, int end) const { return end <= row; }
};

// The batch, or a block table, is wrong.
template <class Args>
FUNCTION void flag_batch(ARGUMENTS const Args& args) {
  if (thread_index() == 0) flag(args.fault, args.op, OUT_OF_RANGE);
}

FUNCTION int first_key(int position, int window) { return window > 0 && position >= window ? position - window + 1 : 0; }

struct KeyRange {
  int first, end;
};

CONSTANT int LEAST_KEYS = 64; // of a part: attention-group.h takes 16 at a time, and two or four warps take turns

// Parts of the keys of sequences that have at most `keys`: `tiles` become up to `blocks`. What a batch holds does not count.
FUNCTION int64_t parts_of_keys(int64_t keys, int64_t tiles, int64_t blocks) {
  const int64_t most = (keys + LEAST_KEYS - 1) / LEAST_KEYS, parts = blocks / tiles;
  return parts < 2 || most < 2 ? 1 : parts < most ? parts : most;
}

// Keys of a part: parts have equal lengths of at least `least` keys, a multiple of its fourth.
FUNCTION int64_t length_of_part(KeyRange all, int parts, int least) {
  const int multiple = least / 4, even = (all.end - all.first + parts * multiple - 1) / (parts * multiple) * multiple;
  return even > least ? even : least;
}

// Keys of part `part` of a range; the last parts may be empty.
FUNCTION KeyRange keys_of_part(KeyRange all, int part, int parts, int least) {
  if (parts == 1) return all;
  const int64_t length = length_of_part(all, parts, least), first = all.first + part * length, end = first + length;
  return {int(first < all.end ? first : all.end), int(end < all.end ? end : all.end)};
}

// Parts that have keys, of more than one part.
FUNCTION int filled_parts(KeyRange all, int parts, int least) {
  const int64_t length = length_of_part(all, parts, least);
  return int((all.end - all.first + length - 1) / length);
}

// Query heads of a block: `count` from `first` on, of row `row`; they share key head `kv_head`.
struct HeadTile {
  int row, kv_head, first, count;
};

FUNCTION HeadTile head_tile(int tile, int heads, int kv_heads, int d) {
  const int group = heads / kv_heads, most = block_heads(group, d), tiles = (group + most - 1) / most;
  const int kv_head = tile / tiles % kv_heads, done = tile % tiles * most;
  return {tile / tiles / kv_heads, kv_head, kv_head * group + done, group - done < most ? group - done : most};
}

template <class Kind>
FUNCTION void attend_cached(ARGUMENTS const Attention& args, Shared<float> sums, Shared<float> merging) {
  const HeadTile tile = head_tile(block_index() / args.parts, args.heads, args.kv_heads, args.d);
  const int part = block_index() % args.parts, s = checked_sequence(args, EndsBefore{tile.row});
  KeyRange range = {0, 0};
  bool right = s >= 0;
  const Global<const int> table = args.table + int64_t(right ? s : 0) * args.table_width;
  if (right) {
    const int length = args.lengths[s], position = length - args.bounds[s + 1] + tile.row;
    const KeyRange all = {first_key(position, args.window), args.causal ? position + 1 : length};
    range = keys_of_part(all, part, args.parts, args.least_keys);
    if (args.merged && part == 0 && thread_index() < tile.count)
      args.filled[int64_t(tile.row) * args.heads + tile.first + thread_index()] = filled_parts(all, args.parts, args.least_keys);
    if (part > 0 && range.first >= range.end) return;
    const int block = range.first / args.block_size, blocks = (range.end + args.block_size - 1) / args.block_size - block;
    right = blocks_exist(table + block, blocks, args.blocks, sums);
  }
  if (!right) return flag_batch(args);
  const int64_t head = int64_t(tile.row) * args.heads + tile.first;
  const CachedKeys<Kind> keys = {args.k, args.v, table, args.block_size, args.kv_heads, tile.kv_head, Kind::bytes(args.d)};
  const ScoreRule rule = {args.scale, args.soft_cap};
  const Global<const float> q = args.q + head * args.d;
  if (!args.merged) return attend(keys, range.first, range.end, q, Whole{args.y + head * args.d}, tile.count, args.d, rule, merging);
  const int size = args.d + 2;
  const Part result = {args.partial + (head * args.parts + part) * size, args.parts * size};
  attend(keys, range.first, range.end, q, result, tile.count, args.d, rule, merging);
}

#define ATTENTION(Kind, name)                 \
  KERNEL(attention_##name, Attention) {       \
    SHARED(float, sums, ATTENTION_WARPS);     \
    SHARED(float, merging, ATTENTION_FLOATS); \
    attend_cached<Kind>(args, sums, merging); \
  }
ATTENTION(CacheF32, f32)
ATTENTION(CacheF16, f16)
ATTENTION(CacheBf16, bf16)
ATTENTION(CacheI8, i8)
ATTENTION(CacheE4m3, e4m3)
#undef ATTENTION

// The parts of a row and head as one, with its sink: a block per row and head. A part with a total of 0 is empty: other rows see its keys.
struct AttentionMerge {
  Global<const float> partial; // [rows · heads, parts, d + 2]
  Global<const int> filled;    // [rows · heads]: parts that were written, the first ones
  Global<float> y;             // [rows · heads, d]
  Global<const float> sinks;   // [heads]: a score without a value, or what `sunk` says
  int parts, d, heads, sunk;   // sunk: 1 with sinks, else 0
};

CONSTANT int MERGE_WARPS = 8; // at most
CONSTANT int MERGE_AHEAD = 4; // parts whose sums a warp loads at a time

struct MergedSums { // element e · WARP + lane
  float of[ATTENTION_WIDTH / WARP];
  float total;
};

// What a lane has of a part.
struct PartSeen {
  float highest, total;
};

FUNCTION PartSeen part_of_lane(Global<const float> parts, int first, int count, int size) {
  const int part = first + lane();
  if (part >= count) return {-infinity(), 0};
  const float highest = parts[part * size], total = parts[part * size + 1];
  return {total != 0 ? highest : -infinity(), total};
}

// seen: of the lane's part of the first 32.
FUNCTION float highest_of_parts(Global<const float> parts, PartSeen seen, int count, int size) {
  float highest = seen.highest;
  for (int first = WARP; first < count; first += WARP) highest = largest(highest, part_of_lane(parts, first, count, size).highest);
  return warp_max(highest);
}

// Adds parts [first, first + WARP), of which each lane has seen one; warps take turns with the sums. The last part stands in for missing ones.
FUNCTION MergedSums with_parts(MergedSums sums, Global<const float> parts, PartSeen seen, int first, int count, int d, float highest) {
  const int size = d + 2, warps = block_threads() / WARP, left = count - first < WARP ? count - first : WARP;
  const float factor = seen.total != 0 ? exponential(seen.highest - shift_of(highest)) : 0.0f;
  for (int p = warp(); p < left; p += MERGE_AHEAD * warps) {
    float shrink[MERGE_AHEAD], values[MERGE_AHEAD][ATTENTION_WIDTH / WARP] = {};
    UNROLL for (int n = 0; n < MERGE_AHEAD; n++) {
      const int part = p + n * warps < left ? p + n * warps : left - 1;
      const float of_part = shuffle(factor, part);
      shrink[n] = part == p + n * warps ? of_part : 0.0f;
      UNROLL for (int e = 0; e < ATTENTION_WIDTH / WARP; e++)
        if (e * WARP + lane() < d) values[n][e] = parts[(first + part) * size + 2 + e * WARP + lane()];
    }
    UNROLL for (int n = 0; n < MERGE_AHEAD; n++)
      UNROLL for (int e = 0; e < ATTENTION_WIDTH / WARP; e++)
        sums.of[e] = fused(shrink[n] != 0 ? values[n][e] : 0.0f, shrink[n], sums.of[e]);
  }
  sums.total += warp_sum(seen.total * factor);
  return sums;
}

// One part is the result, but for its total.
FUNCTION void put_part(Global<const float> part, Global<float> y, int d) {
  for (int i = thread_index(); i < d; i += block_threads()) y[i] = part[2 + i] / part[1];
}

// After a fault `filled` is what memory holds.
FUNCTION int filled_of(ARGUMENTS const AttentionMerge& args) {
  const int filled = args.filled[block_index()];
  return filled < 0 ? 0 : filled < args.parts ? filled : args.parts;
}

KERNEL(attention_merge, AttentionMerge) {
  SHARED(float, of_warps, MERGE_WARPS * ATTENTION_WIDTH);
  const int count = filled_of(args), size = args.d + 2;
  const Global<const float> parts = args.partial + int64_t(block_index()) * args.parts * size;
  const Global<float> y = args.y + int64_t(block_index()) * args.d;
  if (count == 1 && !args.sunk) return put_part(parts, y, args.d);
  const PartSeen seen = part_of_lane(parts, 0, count, size);
  const float sink = args.sunk ? float(args.sinks[block_index() % args.heads]) : -infinity();
  const float highest = largest(highest_of_parts(parts, seen, count, size), sink);
  MergedSums sums = with_parts({}, parts, seen, 0, count, args.d, highest);
  for (int first = WARP; first < count; first += WARP)
    sums = with_parts(sums, parts, part_of_lane(parts, first, count, size), first, count, args.d, highest);
  UNROLL for (int e = 0; e < ATTENTION_WIDTH / WARP; e++) of_warps[warp() * ATTENTION_WIDTH + e * WARP + lane()] = sums.of[e];
  barrier();
  for (int i = thread_index(); i < args.d; i += block_threads()) {
    float sum = 0;
    for (int w = 0; w < block_threads() / WARP; w++) sum += of_warps[w * ATTENTION_WIDTH + i];
    y[i] = sum / (sums.total + exponential(sink - shift_of(highest)));
  }
}

} // namespace gpu
} // namespace quern
