// Scores of one query over a block of keys → weights: a step of the running softmax.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// Scales and caps the scores. Returns the maximum, ignoring NaN.
inline float finish_scores(const Attend& a, float* scores, int32_t count) {
  const auto finish = [&](Floats dot) {
    const Floats scaled = dot * set(a.scale);
    return a.soft_cap > 0 ? set(a.soft_cap) * tanh(scaled / set(a.soft_cap)) : scaled;
  };
  Floats top = set(-INF);
  each(count, [&](int64_t j, auto... rest) {
    store(scores + j, finish(load(scores + j, rest...)), rest...);
    top = max(load_or(set(-INF), scores + j, rest...), top);
  });
  return largest(top);
}

// scores[j] = e^(scores[j] - base); returns their sum.
inline float exponentiate(float* scores, int32_t count, float base) {
  Floats total = set(0);
  each(count, [&](int64_t j, auto... rest) {
    const Floats e = exp(load_or(set(-INF), scores + j, rest...) - set(base));
    store(scores + j, e, rest...);
    total = total + e;
  });
  return sum(total);
}

// Turns the dot products of query r with the keys it sees into weights.
inline void weigh_scores(const Attend& a, const Queries& s, int32_t r, float* scores, Range seen) {
  s.shrink[r] = 1;
  if (seen.empty()) return;
  const int32_t count = seen.to - seen.from;
  const float before = s.top[r];
  const float highest = finish_scores(a, scores + seen.from, count);
  if (highest > before) {
    s.top[r] = highest;
    store(s.shrink + r, exp(set(before - highest)), 1);
  }
  const float base = s.top[r] == -INF ? 0 : s.top[r]; // no key yet: e^(-inf - 0) = 0; -inf - -inf would be NaN
  s.total[r] = s.total[r] * s.shrink[r] + exponentiate(scores + seen.from, count, base);
}

} // namespace
} // namespace quern::QUERN_ISA
