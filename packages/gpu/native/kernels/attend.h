// Attention of one query by a block: y = softmax(q · Kᵀ · scale) · V. Warps share the keys; each keeps a running softmax
// (Milakov and Gimelshein 2018), and the parts are merged in the order of the warps. Keys lie as a type of cache says.
#pragma once
#include "block-sum.h"
#include "cache.h"

namespace quern {
namespace gpu {

constexpr int ATTENTION_WARPS = 8, ATTENTION_WIDTH = 256; // at most
constexpr int ATTENTION_FLOATS = ATTENTION_WARPS * (ATTENTION_WIDTH + 2); // of shared memory

struct ScoreRule {
  float scale, soft_cap; // soft_cap 0: none
};

// What a lane of a warp has seen. It has elements lane + 32 j of q and of the sums.
template <int PARTS>
struct Running {
  float q[PARTS], sums[PARTS];
  float highest, total;
};

// Scores are subtracted from this before exp: the highest, but −∞ − −∞ would be NaN.
FUNCTION float shift_of(float highest) { return highest == -infinity() ? 0 : highest; }

// Adds keys [key, key + KEYS).
template <int KEYS, int PARTS, class Keys>
FUNCTION Running<PARTS> with_keys(Running<PARTS> seen, Keys keys, int key, int d, ScoreRule rule) {
  using Kind = typename Keys::Kind;
  long heads[KEYS];
  float scores[KEYS], highest = seen.highest;
  UNROLL
  for (int n = 0; n < KEYS; n++) {
    heads[n] = keys.head(key + n);
    float dot = 0;
    UNROLL
    for (int j = 0; j < PARTS; j++)
      if (lane() + WARP * j < d) dot += seen.q[j] * Kind::get(keys.k + heads[n], lane() + WARP * j);
    scores[n] = warp_sum(dot) * Kind::scale(keys.k + heads[n], d) * rule.scale;
    if (rule.soft_cap > 0) scores[n] = rule.soft_cap * hyperbolic_tangent(scores[n] / rule.soft_cap);
    highest = largest(highest, scores[n]);
  }
  const float shrink = exponential(seen.highest - shift_of(highest));
  seen.highest = highest;
  seen.total *= shrink;
  UNROLL
  for (int j = 0; j < PARTS; j++) seen.sums[j] *= shrink;
  UNROLL
  for (int n = 0; n < KEYS; n++) {
    const float weight = exponential(scores[n] - shift_of(highest)), factor = weight * Kind::scale(keys.v + heads[n], d);
    seen.total += weight;
    UNROLL
    for (int j = 0; j < PARTS; j++)
      if (lane() + WARP * j < d) seen.sums[j] += factor * Kind::get(keys.v + heads[n], lane() + WARP * j);
  }
  return seen;
}

// y = the sums of all warps / their total.
template <int PARTS>
FUNCTION void merge(Running<PARTS> seen, Global<float> y, int d, Shared<float> parts) {
  const int warps = block_threads() / WARP, size = d + 2; // per warp: highest score, total, sums
  const Shared<float> mine = parts + warp() * size;
  if (lane() == 0) mine[0] = seen.highest, mine[1] = seen.total;
  UNROLL
  for (int j = 0; j < PARTS; j++)
    if (lane() + WARP * j < d) mine[2 + lane() + WARP * j] = seen.sums[j];
  barrier();
  float highest = -infinity(), total = 0;
  for (int w = 0; w < warps; w++) highest = largest(highest, parts[w * size]);
  for (int w = 0; w < warps; w++) total += parts[w * size + 1] * exponential(parts[w * size] - shift_of(highest));
  for (int i = thread_index(); i < d; i += block_threads()) {
    float sum = 0;
    for (int w = 0; w < warps; w++) sum += parts[w * size + 2 + i] * exponential(parts[w * size] - shift_of(highest));
    y[i] = sum / total;
  }
}

template <int PARTS, class Keys>
FUNCTION void attend_parts(Keys keys, int first, int end, Global<const float> q, Global<float> y, int d, ScoreRule rule,
                           Shared<float> parts) {
  constexpr int KEYS = 4;
  Running<PARTS> seen;
  UNROLL
  for (int j = 0; j < PARTS; j++) seen.sums[j] = 0, seen.q[j] = lane() + WARP * j < d ? float(q[lane() + WARP * j]) : 0.0f;
  seen.highest = -infinity(), seen.total = 0;
  int key = first + warp() * KEYS;
  for (; key + KEYS <= end; key += block_threads() / WARP * KEYS) seen = with_keys<KEYS>(seen, keys, key, d, rule);
  for (; key < end; key++) seen = with_keys<1>(seen, keys, key, d, rule);
  merge(seen, y, d, parts);
}

// Keys [first, end), at least one. keys.head(key): where its head of keys.k and keys.v begins. d is at most ATTENTION_WIDTH.
template <class Keys>
FUNCTION void attend(Keys keys, int first, int end, Global<const float> q, Global<float> y, int d, ScoreRule rule,
                     Shared<float> parts) {
  if (d <= 2 * WARP) attend_parts<2>(keys, first, end, q, y, d, rule, parts);
  else if (d <= 4 * WARP) attend_parts<4>(keys, first, end, q, y, d, rule, parts);
  else attend_parts<8>(keys, first, end, q, y, d, rule, parts);
}

} // namespace gpu
} // namespace quern
