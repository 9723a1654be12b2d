// cache[slots[t]] = k[t] and v[t], in the type of the caches; slot −1: nothing. Of two rows with one slot the later wins.
// A block per row; its warps share the heads.
#pragma once
#include "block-max.h"
#include "block-sum.h"
#include "cache.h"
#include "fault-code.h"

namespace quern {
namespace gpu {

struct KvAppend {
  Global<const float> k, v;      // [blocks, heads, d]
  Global<const int> slots;       // [blocks]
  Global<Byte> k_cache, v_cache; // [cache_slots, heads, d]: cache.h
  int heads, d, cache_slots;
  Global<int> fault;
  int op;
};

// Whether one of the rows behind `row` has its slot. In every thread the same.
FUNCTION bool written_later(Global<const int> slots, int row, int rows, Shared<float> sums) {
  float later = 0;
  for (int t = row + 1 + thread_index(); t < rows; t += block_threads()) later += slots[t] == slots[row] ? 1.0f : 0.0f;
  return block_sum(later, sums) > 0;
}

// The lanes of a warp write one head. X: a pointer to its floats, in device or shared memory.
template <class Kind>
struct PutHead {
  template <class X>
  static FUNCTION void put(X x, int d, Global<Byte> head) {
    for (int i = lane(); i < d; i += WARP) Kind::put(head, i, x[i]);
  }
};

// scale = max|x| / largest, NaN unless all x are finite; elements are x / scale, clamped: a subnormal scale is not exact.
template <class Kind>
struct PutScaled {
  template <class X>
  static FUNCTION void put(X x, int d, Global<Byte> head) {
    float top = 0;
    for (int i = lane(); i < d; i += WARP) top = absolute(x[i]) < infinity() ? largest(top, absolute(x[i])) : infinity();
    top = warp_max(top);
    const float scale = top < infinity() ? top / Kind::largest_element() : infinity() - infinity();
    for (int i = lane(); i < d; i += WARP) head[i] = scale > 0 ? Kind::element(x[i] / scale) : Byte(0);
    if (lane() == 0) Kind::put_scale(head, d, scale);
  }
};
template <>
struct PutHead<CacheI8> : PutScaled<CacheI8> {};
template <>
struct PutHead<CacheE4m3> : PutScaled<CacheE4m3> {};

// The slot that a row writes; −1: none. In every thread the same.
template <class Args>
FUNCTION int slot_to_write(ARGUMENTS const Args& args, int row, int rows, Shared<float> sums) {
  const int slot = args.slots[row];
  if (slot < -1 || slot >= args.cache_slots) {
    if (thread_index() == 0) flag(args.fault, args.op, OUT_OF_RANGE);
    return -1;
  }
  return slot < 0 || written_later(args.slots, row, rows, sums) ? -1 : slot;
}

template <class Kind>
FUNCTION int64_t head_in_cache(int slot, int heads, int head, int d) { return (int64_t(slot) * heads + head) * Kind::bytes(d); }

template <class Kind>
FUNCTION void append(ARGUMENTS const KvAppend& args, Shared<float> sums) {
  const int row = block_index(), slot = slot_to_write(args, row, grid_blocks(), sums);
  if (slot < 0) return;
  for (int i = warp(); i < 2 * args.heads; i += block_threads() / WARP) {
    const bool values = i >= args.heads;
    const int head = values ? i - args.heads : i;
    const Global<const float> x = (values ? args.v : args.k) + (int64_t(row) * args.heads + head) * args.d;
    PutHead<Kind>::put(x, args.d, (values ? args.v_cache : args.k_cache) + head_in_cache<Kind>(slot, args.heads, head, args.d));
  }
}

#define KV_APPEND(Kind, name)          \
  KERNEL(kv_append_##name, KvAppend) { \
    SHARED(float, sums, WARP);         \
    append<Kind>(args, sums);          \
  }
KV_APPEND(CacheF32, f32)
KV_APPEND(CacheF16, f16)
KV_APPEND(CacheBf16, bf16)
KV_APPEND(CacheI8, i8)
KV_APPEND(CacheE4m3, e4m3)
#undef KV_APPEND

} // namespace gpu
} // namespace quern
