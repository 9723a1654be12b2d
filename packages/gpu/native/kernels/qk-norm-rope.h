// rope(rmsNorm(q)) and rope(rmsNorm(k)), each norm optional. A block per token; a warp per head.
#pragma once
#include "block-sum.h"
#include "rope.h"

namespace quern {
namespace gpu {

struct QkNormRope {
  Global<const float> q, k;           // [blocks, heads, d], [blocks, key_heads, d]
  Global<const float> q_norm, k_norm; // [d], or null
  Global<const float> table;          // [blocks, 2 · half]
  Global<float> to_q, to_k;           // as q and k
  int heads, key_heads, d, half;
  int halves; // of Rope
  float eps;
};

struct Normed {
  Global<const float> w;
  float factor;
  FUNCTION float at(int i) const { return w ? factor * w[i] : 1.0f; }
};

KERNEL(qk_norm_rope, QkNormRope) {
  const Global<const float> angles = args.table + long(block_index()) * 2 * args.half;
  for (int i = warp(); i < args.heads + args.key_heads; i += block_threads() / WARP) {
    const bool key = i >= args.heads;
    const long head = key ? (long(block_index()) * args.key_heads + i - args.heads) * args.d
                          : (long(block_index()) * args.heads + i) * args.d;
    const Global<const float> x = (key ? args.k : args.q) + head;
    Normed normed = {key ? args.k_norm : args.q_norm, 1};
    if (normed.w) {
      float squares = 0;
      for (int j = lane(); j < args.d; j += WARP) squares += x[j] * x[j];
      normed.factor = inverse_square_root(warp_sum(squares) / float(args.d) + args.eps);
    }
    for (int item = lane(); item < args.d - args.half; item += WARP)
      rotate_item(x, angles, (key ? args.to_k : args.to_q) + head, item, args.half, args.halves != 0, normed);
  }
}

} // namespace gpu
} // namespace quern
