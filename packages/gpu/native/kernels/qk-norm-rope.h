// rope(rmsNorm(q)) and rope(rmsNorm(k)), each norm optional; k and v go on into the caches, as in kv-append.h. A warp per head.
#pragma once
#include "block-sum.h"
#include "kv-append.h"
#include "rope.h"

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

struct Normed {
  Global<const float> w;
  float factor;
  FUNCTION float at(int i) const { return w ? factor * w[i] : 1.0f; }
};

template <class Y>
FUNCTION void norm_and_rotate(ARGUMENTS const QkNormRope& args, Global<const float> x, Global<const float> norm, int row, Y y) {
  const int d = args.append.d;
  const Global<const float> angles = args.table + long(row) * 2 * args.pairs;
  Normed normed = {norm, 1};
  if (norm) {
    float squares = 0;
    for (int j = lane(); j < d; j += WARP) squares += x[j] * x[j];
    normed.factor = inverse_square_root(warp_sum(squares) / float(d) + args.eps);
  }
  for (int item = lane(); item < d - args.pairs; item += WARP)
    rotate_item(x, angles, y, item, args.pairs, args.halves != 0, normed);
}

// Blocks of a row: a warp for each head of q, k and v.
FUNCTION int rope_blocks(int heads, int kv_heads) { return (heads + 2 * kv_heads + ROPE_WARPS - 1) / ROPE_WARPS; }

template <class Kind>
FUNCTION void rotate_and_append(ARGUMENTS const QkNormRope& args, Shared<float> sums, Shared<float> rotated) {
  const KvAppend to = args.append;
  const int blocks = rope_blocks(args.heads, to.heads), row = block_index() / blocks, d = to.d;
  const int head = block_index() % blocks * ROPE_WARPS + warp(), of_k = head - args.heads, of_v = of_k - to.heads;
  const int slot = slot_to_write(to, row, args.rows, sums);
  if (of_k < 0) {
    const long at = (long(row) * args.heads + head) * d;
    return norm_and_rotate(args, args.q + at, args.q_norm, row, args.y + at);
  }
  if (slot < 0 || of_v >= to.heads) return;
  if (of_v >= 0)
    return PutHead<Kind>::put(to.v + (long(row) * to.heads + of_v) * d, d, to.v_cache + head_in_cache<Kind>(slot, to.heads, of_v, d));
  const Shared<float> mine = rotated + warp() * ROPE_WIDTH;
  norm_and_rotate(args, to.k + (long(row) * to.heads + of_k) * d, args.k_norm, row, mine);
  warp_barrier();
  PutHead<Kind>::put(mine, d, to.k_cache + head_in_cache<Kind>(slot, to.heads, of_k, d));
}

#define QK_NORM_ROPE(Kind, name)                        \
  KERNEL(qk_norm_rope_append_##name, QkNormRope) {      \
    SHARED(float, sums, WARP);                          \
    SHARED(float, rotated, ROPE_WARPS * ROPE_WIDTH);    \
    rotate_and_append<Kind>(args, sums, rotated);       \
  }
QK_NORM_ROPE(CacheF32, f32)
QK_NORM_ROPE(CacheF16, f16)
QK_NORM_ROPE(CacheBf16, bf16)
QK_NORM_ROPE(CacheI8, i8)
QK_NORM_ROPE(CacheE4m3, e4m3)
#undef QK_NORM_ROPE

} // namespace gpu
} // namespace quern
