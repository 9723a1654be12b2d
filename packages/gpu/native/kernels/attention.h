// Attention over a cache: a ragged batch, blocks of any size (docs/architecture.md, section 6). A block per row and head, at most
// 256 threads. A row's bits depend on the number of threads, not on other rows.
#pragma once
#include "attend.h"
#include "fault-code.h"

namespace quern {
namespace gpu {

struct Attention {
  Global<const float> q;                    // [rows, heads, d]; block `row · heads + head`
  Global<const Byte> k, v;                  // [blocks, block_size, kv_heads, d]: cache.h
  Global<const int> bounds, lengths, table; // cuSeqlens [sequences + 1], kvLengths [sequences], blockTable [sequences, table_width]
  Global<float> y;                          // [rows, heads, d]
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

  FUNCTION long head(int key) const {
    const long slot = long(table[key / block_size]) * block_size + key % block_size;
    return (slot * kv_heads + kv_head) * bytes;
  }
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

// Whether every sequence has as many keys as rows, and they fit into its blocks.
template <class Args>
FUNCTION bool lengths_fit(const Args& args, Shared<float> sums) {
  float wrong = 0;
  for (int s = thread_index(); s < args.sequences; s += block_threads()) {
    const long rows = long(args.bounds[s + 1]) - args.bounds[s], length = args.lengths[s];
    wrong += length < rows || length > long(args.table_width) * args.block_size ? 1.0f : 0.0f;
  }
  return block_sum(wrong, sums) == 0;
}

// Whether the blocks of a sequence's keys are blocks of the cache.
FUNCTION bool blocks_exist(Global<const int> table, int count, int blocks, Shared<float> sums) {
  float wrong = 0;
  for (int b = thread_index(); b < count; b += block_threads()) wrong += table[b] < 0 || table[b] >= blocks ? 1.0f : 0.0f;
  return block_sum(wrong, sums) == 0;
}

// The sequence of a row; −1, with a fault, if the batch is wrong.
template <class Args>
FUNCTION int checked_sequence(const Args& args, int row, Shared<float> sums) {
  bool right = bounds_rise(args.bounds, args.sequences, args.rows, sums) && lengths_fit(args, sums + ATTENTION_WARPS);
  const int s = right ? sequence_of(row, args.bounds, args.sequences, sums + 2 * ATTENTION_WARPS) : -1;
  if (right) {
    const int count = int((long(args.lengths[s]) + args.block_size - 1) / args.block_size);
    right = blocks_exist(args.table + long(s) * args.table_width, count, args.blocks, sums + 3 * ATTENTION_WARPS);
  }
  if (!right && thread_index() == 0) flag(args.fault, args.op, OUT_OF_RANGE);
  return right ? s : -1;
}

FUNCTION int first_key(int position, int window) { return window > 0 && position >= window ? position - window + 1 : 0; }

template <class Kind, class Args>
FUNCTION void attend_cached(const Args& args, Shared<float> sums, Shared<float> parts) {
  const int row = block_index() / args.heads, head = block_index() % args.heads;
  const int s = checked_sequence(args, row, sums);
  if (s < 0) return;
  const int length = args.lengths[s], position = length - args.bounds[s + 1] + row;
  const CachedKeys<Kind> keys = {args.k, args.v, args.table + long(s) * args.table_width, args.block_size, args.kv_heads,
                                 int(long(head) * args.kv_heads / args.heads), Kind::bytes(args.d)};
  const long at = long(block_index()) * args.d;
  attend(keys, first_key(position, args.window), args.causal ? position + 1 : length, args.q + at, args.y + at, args.d,
         ScoreRule{args.scale, args.soft_cap}, parts);
}

KERNEL(attention_f32, Attention) {
  SHARED(float, sums, 4 * ATTENTION_WARPS);
  SHARED(float, parts, ATTENTION_FLOATS);
  attend_cached<CacheF32>(args, sums, parts);
}

KERNEL(attention_f16, Attention) {
  SHARED(float, sums, 4 * ATTENTION_WARPS);
  SHARED(float, parts, ATTENTION_FLOATS);
  attend_cached<CacheF16>(args, sums, parts);
}

KERNEL(attention_bf16, Attention) {
  SHARED(float, sums, 4 * ATTENTION_WARPS);
  SHARED(float, parts, ATTENTION_FLOATS);
  attend_cached<CacheBf16>(args, sums, parts);
}

KERNEL(attention_i8, Attention) {
  SHARED(float, sums, 4 * ATTENTION_WARPS);
  SHARED(float, parts, ATTENTION_FLOATS);
  attend_cached<CacheI8>(args, sums, parts);
}

} // namespace gpu
} // namespace quern
