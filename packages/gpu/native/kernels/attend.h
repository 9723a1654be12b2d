// Attention of the query heads that share a key head: y = softmax(q · Kᵀ · scale) · V. Eight lanes share a key, so a warp sees four
// keys at a time; each group of eight lanes keeps a running softmax (Milakov and Gimelshein 2018) of all the heads. Groups, then warps
// are merged in their order. Keys lie as a type of cache says.
#pragma once
#include "block-sum.h"
#include "cache.h"

namespace quern {
namespace gpu {

CONSTANT int KEY_LANES = 8, WARP_KEYS = WARP / KEY_LANES;
CONSTANT int ATTENTION_WARPS = 4, ATTENTION_WIDTH = 256; // at most
CONSTANT int HEAD_EIGHTS = 4;                            // heads of a block · eights of a lane, at most: registers
CONSTANT int ATTENTION_FLOATS = ATTENTION_WARPS * HEAD_EIGHTS * (KEY_LANES * 8 + 2); // of shared memory

// What lanes of a key have: eights of a head of d elements.
FUNCTION int eights_of(int d) { return d <= 8 * KEY_LANES ? 1 : d <= 16 * KEY_LANES ? 2 : 4; }
// Query heads of a block, if `group` of them share a key head.
FUNCTION int block_heads(int group, int d) {
  const int most = HEAD_EIGHTS / eights_of(d);
  return group < most ? group : most;
}

struct ScoreRule {
  float scale, soft_cap; // soft_cap 0: none
};

// What a group of lanes has seen. A lane has elements lane_element(j) to + 7 of q and of the sums.
template <int HEADS, int EIGHTS>
struct Seen {
  Eight q[HEADS][EIGHTS], sums[HEADS][EIGHTS];
  float highest[HEADS], total[HEADS];
};

FUNCTION int lane_element(int j) { return (j * KEY_LANES + lane() % KEY_LANES) * 8; }

// Scores are subtracted from this before exp: the highest, but −∞ − −∞ would be NaN.
FUNCTION float shift_of(float highest) { return highest == -infinity() ? 0 : highest; }

FUNCTION float sum_of_key(float x) {
  for (int apart = KEY_LANES / 2; apart > 0; apart /= 2) x += shuffle_xor(x, apart);
  return x;
}

// Adds keys [key, key + KEYS) of the lane's group, without those from `end` on. All lanes of the warp take part.
template <bool LOADS, int KEYS, int HEADS, int EIGHTS, class Keys>
FUNCTION Seen<HEADS, EIGHTS> with_keys(Seen<HEADS, EIGHTS> seen, Keys keys, int key, int end, int d, ScoreRule rule) {
  using Kind = typename Keys::Kind;
  int64_t at[KEYS];
  float scores[KEYS][HEADS];
  UNROLL for (int n = 0; n < KEYS; n++) {
    at[n] = keys.head(key + n < end ? key + n : end - 1);
    Eight k[EIGHTS];
    UNROLL for (int j = 0; j < EIGHTS; j++) k[j] = eight_of_head<Kind, LOADS>(keys.k + at[n], lane_element(j), d);
    const float scale = Kind::scale(keys.k + at[n], d) * rule.scale;
    UNROLL for (int h = 0; h < HEADS; h++) {
      float dot = 0;
      UNROLL for (int j = 0; j < EIGHTS; j++)
        UNROLL for (int i = 0; i < 8; i++) dot = fused(seen.q[h][j].values[i], k[j].values[i], dot);
      float score = sum_of_key(dot) * scale;
      if (rule.soft_cap > 0) score = rule.soft_cap * hyperbolic_tangent(score / rule.soft_cap);
      scores[n][h] = key + n < end ? score : -infinity();
    }
  }
  UNROLL for (int h = 0; h < HEADS; h++) {
    float highest = seen.highest[h];
    UNROLL for (int n = 0; n < KEYS; n++) highest = largest(highest, scores[n][h]);
    const float shrink = exponential(seen.highest[h] - shift_of(highest));
    seen.highest[h] = highest;
    seen.total[h] *= shrink;
    UNROLL for (int j = 0; j < EIGHTS; j++)
      UNROLL for (int i = 0; i < 8; i++) seen.sums[h][j].values[i] *= shrink;
  }
  UNROLL for (int n = 0; n < KEYS; n++) {
    if (key + n >= end) break;
    Eight v[EIGHTS];
    UNROLL for (int j = 0; j < EIGHTS; j++) v[j] = eight_of_head<Kind, LOADS>(keys.v + at[n], lane_element(j), d);
    const float scale = Kind::scale(keys.v + at[n], d);
    UNROLL for (int h = 0; h < HEADS; h++) {
      const float weight = exponential(scores[n][h] - shift_of(seen.highest[h])), factor = weight * scale;
      seen.total[h] += weight;
      UNROLL for (int j = 0; j < EIGHTS; j++)
        UNROLL for (int i = 0; i < 8; i++) seen.sums[h][j].values[i] = fused(factor, v[j].values[i], seen.sums[h][j].values[i]);
    }
  }
  return seen;
}

// All groups of the warp as one, in every group.
template <int HEADS, int EIGHTS>
FUNCTION Seen<HEADS, EIGHTS> merged_groups(Seen<HEADS, EIGHTS> seen) {
  UNROLL for (int h = 0; h < HEADS; h++) {
    float highest = seen.highest[h];
    for (int apart = KEY_LANES; apart < WARP; apart *= 2) highest = largest(highest, shuffle_xor(highest, apart));
    const float shrink = exponential(seen.highest[h] - shift_of(highest));
    seen.highest[h] = highest;
    seen.total[h] *= shrink;
    for (int apart = KEY_LANES; apart < WARP; apart *= 2) seen.total[h] += shuffle_xor(seen.total[h], apart);
    UNROLL for (int j = 0; j < EIGHTS; j++)
      UNROLL for (int i = 0; i < 8; i++) {
        float sum = seen.sums[h][j].values[i] * shrink;
        for (int apart = KEY_LANES; apart < WARP; apart *= 2) sum += shuffle_xor(sum, apart);
        seen.sums[h][j].values[i] = sum;
      }
  }
  return seen;
}

// The result of one head: y.
struct Whole {
  Global<float> y; // [heads, d]
  FUNCTION Whole from(int head, int d) const { return {y + head * d}; }
  FUNCTION void put(int head, int d, int i, float sum, float, float total) const { y[head * d + i] = sum / total; }
};

// The result of one head and a part of the keys: its highest score, its total, its sums. attention-parts.h merges them.
struct Part {
  Global<float> part; // of the first head: [d + 2]
  int step;           // from one head to the next
  FUNCTION Part from(int head, int) const { return {part + head * step, step}; }
  FUNCTION void put(int head, int, int i, float sum, float highest, float total) const {
    const Global<float> mine = part + head * step;
    if (i == 0) mine[0] = highest, mine[1] = total;
    mine[2 + i] = sum;
  }
};

// All warps as one.
template <int HEADS, int EIGHTS, class Result>
FUNCTION void merge(Seen<HEADS, EIGHTS> seen, Result result, int heads, int d, Shared<float> parts) {
  const int warps = block_threads() / WARP, size = d + 2; // of a warp and head: highest score, total, sums
  if (lane() < KEY_LANES)
    UNROLL for (int h = 0; h < HEADS; h++) {
      const Shared<float> mine = parts + (warp() * HEADS + h) * size;
      if (lane() == 0) mine[0] = seen.highest[h], mine[1] = seen.total[h];
      UNROLL for (int j = 0; j < EIGHTS; j++)
        UNROLL for (int i = 0; i < 8; i++)
          if (lane_element(j) + i < d) mine[2 + lane_element(j) + i] = seen.sums[h][j].values[i];
    }
  barrier();
  for (int at = thread_index(); at < heads * d; at += block_threads()) {
    const int h = at / d, i = at % d;
    float highest = -infinity(), total = 0, sum = 0;
    for (int w = 0; w < warps; w++) highest = largest(highest, parts[(w * HEADS + h) * size]);
    for (int w = 0; w < warps; w++) {
      const Shared<float> of_warp = parts + (w * HEADS + h) * size;
      const float shrink = exponential(of_warp[0] - shift_of(highest));
      total = fused(of_warp[1], shrink, total);
      sum = fused(of_warp[2 + i], shrink, sum);
    }
    result.put(h, d, i, sum, highest, total);
  }
}

template <bool LOADS, int HEADS, int EIGHTS, class Keys, class Result>
FUNCTION void attend_heads(Keys keys, int first, int end, Global<const float> q, Result result, int heads, int d, ScoreRule rule,
                           Shared<float> parts) {
  constexpr int KEYS = 2;
  const int warps = block_threads() / WARP, group = lane() / KEY_LANES;
  Seen<HEADS, EIGHTS> seen = {};
  UNROLL for (int h = 0; h < HEADS; h++) {
    seen.highest[h] = -infinity();
    UNROLL for (int j = 0; j < EIGHTS; j++)
      UNROLL for (int i = 0; i < 8; i++) {
        const int at = lane_element(j) + i;
        seen.q[h][j].values[i] = h < heads && at < d ? float(q[h * d + at]) : 0.0f;
      }
  }
  for (int key = first + warp() * WARP_KEYS * KEYS; key < end; key += warps * WARP_KEYS * KEYS)
    seen = with_keys<LOADS, KEYS>(seen, keys, key + group * KEYS, end, d, rule);
  merge(merged_groups(seen), result, heads, d, parts);
}

// Queries q [heads, d] and keys [first, end), at least one. heads: at most block_heads. keys.head(key): where its head of keys.k
// and keys.v begins. d is at most ATTENTION_WIDTH.
template <class Keys, class Result>
FUNCTION void attend(Keys keys, int first, int end, Global<const float> q, Result result, int heads, int d, ScoreRule rule,
                     Shared<float> parts) {
  const int eights = eights_of(d);
  if (!loads_eights(keys.k, d) || !loads_eights(keys.v, d)) {
    for (int h = 0; h < heads; h++) {
      barrier(); // the head before has been merged
      attend_heads<false, 1, 4>(keys, first, end, q + h * d, result.from(h, d), 1, d, rule, parts);
    }
    return;
  }
#define QUERN_ATTEND(HEADS, EIGHTS) attend_heads<true, HEADS, EIGHTS>(keys, first, end, q, result, heads, d, rule, parts)
  if (eights == 1 && heads > 2) QUERN_ATTEND(4, 1);
  else if (eights == 1 && heads > 1) QUERN_ATTEND(2, 1);
  else if (eights == 1) QUERN_ATTEND(1, 1);
  else if (eights == 2 && heads > 1) QUERN_ATTEND(2, 2);
  else if (eights == 2) QUERN_ATTEND(1, 2);
  else QUERN_ATTEND(1, 4);
#undef QUERN_ATTEND
}

} // namespace gpu
} // namespace quern
