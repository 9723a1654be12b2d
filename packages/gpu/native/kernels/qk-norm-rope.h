// rope(rmsNorm(q)) and rope(rmsNorm(k)), each norm optional; k and v go on into the caches, as in kv-append.h. A warp per head.
#pragma once
#include "block-sum.h"
#include "kv-append.h"
#include "rope.h"
#include "row-fours.h"

namespace quern {
namespace gpu {

struct QkNormRope {
  Global<const float> q;              // [rows, heads, d]
  Global<const float> q_norm, k_norm; // [d], or null
  Global<const float> table;          // [rows, 2 · half]
  Global<float> y;                    // as q
  int rows, heads, pairs;
  int halves; // of Rope
  float eps;
  KvAppend append; // its heads are those of k and v
};

CONSTANT int ROPE_WARPS = 8, ROPE_WIDTH = 256; // of a block; elements of a head, at most

CONSTANT int ROPE_ITEMS = ROPE_WIDTH / WARP; // of a lane, at most

// A lane's items of a head, and the factors of a norm for each element: 1 without one.
struct HeadItems {
  RopeItem of[ROPE_ITEMS];
  float first_w[ROPE_ITEMS], second_w[ROPE_ITEMS];
};

// All loads are under way before one is used.
FUNCTION HeadItems load_head(ARGUMENTS const QkNormRope& args, Global<const float> x, Global<const float> norm, int row) {
  const int pairs = args.pairs;
  const bool halves = args.halves != 0;
  const Global<const float> angles = args.table + int64_t(row) * 2 * pairs;
  HeadItems items = {};
  UNROLL for (int n = 0; n < ROPE_ITEMS; n++) {
    const int item = lane() + n * WARP;
    if (item >= args.append.d - pairs) continue;
    items.of[n] = load_item(x, angles, item, pairs, halves);
    items.first_w[n] = norm ? float(norm[first_of_item(item, pairs, halves)]) : 1.0f;
    if (item < pairs) items.second_w[n] = norm ? float(norm[second_of_item(item, pairs, halves)]) : 1.0f;
  }
  return items;
}

// Factor of all elements of a head.
FUNCTION float norm_of_head(HeadItems items, int d, float eps) {
  float squares = 0;
  UNROLL for (int n = 0; n < ROPE_ITEMS; n++) squares += items.of[n].a * items.of[n].a + items.of[n].b * items.of[n].b;
  return inverse_square_root(warp_sum(squares) / float(d) + eps);
}

template <class Y>
FUNCTION void norm_and_rotate(ARGUMENTS const QkNormRope& args, HeadItems items, bool has_norm, Y y) {
  const int d = args.append.d, pairs = args.pairs;
  const float factor = has_norm ? norm_of_head(items, d, args.eps) : 1.0f;
  UNROLL for (int n = 0; n < ROPE_ITEMS; n++) {
    const int item = lane() + n * WARP;
    RopeItem normed = items.of[n];
    normed.a *= factor * items.first_w[n], normed.b *= factor * items.second_w[n];
    if (item < d - pairs) put_rotated(normed, y, item, pairs, args.halves != 0);
  }
}

// Blocks of a row: a warp for each head of q, k and v.
FUNCTION int rope_blocks(int heads, int kv_heads) { return (heads + 2 * kv_heads + ROPE_WARPS - 1) / ROPE_WARPS; }

template <class Kind>
FUNCTION void rotate_and_append(ARGUMENTS const QkNormRope& args, Shared<float> sums, Shared<float> rotated) {
  const KvAppend to = args.append;
  const int blocks = rope_blocks(args.heads, to.heads), row = block_index() / blocks, d = to.d;
  const int head = block_index() % blocks * ROPE_WARPS + warp(), of_k = head - args.heads, of_v = of_k - to.heads;
  const Global<const float> norm = of_k < 0 ? args.q_norm : args.k_norm;
  const int64_t query = (int64_t(row) * args.heads + head) * d, key = (int64_t(row) * to.heads + of_k) * d;
  HeadItems items = {};
  if (of_v < 0) items = load_head(args, of_k < 0 ? args.q + query : to.k + key, norm, row);
  const int slot = slot_to_write(to, row, args.rows, sums);
  if (of_k < 0) return norm_and_rotate(args, items, bool(norm), args.y + query);
  if (slot < 0 || of_v >= to.heads) return;
  if (of_v >= 0)
    return PutHead<Kind>::put(to.v + (int64_t(row) * to.heads + of_v) * d, d, to.v_cache + head_in_cache<Kind>(slot, to.heads, of_v, d));
  const Shared<float> mine = rotated + warp() * ROPE_WIDTH;
  norm_and_rotate(args, items, bool(norm), mine);
  warp_barrier();
  PutHead<Kind>::put(mine, d, to.k_cache + head_in_cache<Kind>(slot, to.heads, of_k, d));
}

FUNCTION void prefetch_norms(ARGUMENTS const QkNormRope& args) {
  if (args.q_norm) prefetch_row(args.q_norm, args.append.d);
  if (args.k_norm) prefetch_row(args.k_norm, args.append.d);
}

#define QK_NORM_ROPE(Kind, name)                                                   \
  KERNEL_AHEAD_OF(qk_norm_rope_append_##name, QkNormRope, ROPE_WARPS * WARP, 1) {  \
    SHARED(float, sums, WARP);                                                     \
    SHARED(float, rotated, ROPE_WARPS * ROPE_WIDTH);                               \
    prefetch_norms(args);                                                          \
    previous_launches_done();                                                      \
    rotate_and_append<Kind>(args, sums, rotated);                                  \
  }
QK_NORM_ROPE(CacheF32, f32)
QK_NORM_ROPE(CacheF16, f16)
QK_NORM_ROPE(CacheBf16, bf16)
QK_NORM_ROPE(CacheI8, i8)
QK_NORM_ROPE(CacheE4m3, e4m3)
#undef QK_NORM_ROPE

} // namespace gpu
} // namespace quern
