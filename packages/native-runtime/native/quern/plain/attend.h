// Attention of one query.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "quern/op-view.h"

namespace quern::plain {

// Attributes of both attention ops. Sums are in double precision, also if `bf16` allows less.
struct AttentionRule {
  float scale;
  bool causal;
  int32_t window;
  float soft_cap;
  float sink = -HUGE_VALF; // a score without a value; -inf: none
};

// y [d] = softmax(q · K · scale) · V over keys [first, end); get(key, k, v) fills k [d] and v [d]. No keys: zeros.
template <class Get>
void attend(const float* q, int64_t d, int64_t first, int64_t end, const AttentionRule& rule, const Get& get, float* y) {
  std::vector<float> k(d), v(d);
  std::vector<double> scores, sums(d);
  double highest = rule.sink;
  for (int64_t key = first; key < end; key++) {
    get(key, k.data(), v.data());
    double score = 0;
    for (int64_t i = 0; i < d; i++) score += double(q[i]) * k[i];
    score *= rule.scale;
    if (rule.soft_cap > 0) score = rule.soft_cap * std::tanh(score / rule.soft_cap);
    scores.push_back(score);
    highest = std::max(highest, score);
  }
  double total = rule.sink == -HUGE_VALF ? 0 : std::exp(rule.sink - highest);
  for (int64_t key = first; key < end; key++) {
    const double weight = std::exp(scores[key - first] - highest);
    get(key, k.data(), v.data());
    total += weight;
    for (int64_t i = 0; i < d; i++) sums[i] += weight * v[i];
  }
  for (int64_t i = 0; i < d; i++) y[i] = end > first ? static_cast<float>(sums[i] / total) : 0;
}

// The keys [first, end) that the query at `position` of `length` sees.
struct KeyRange {
  int64_t first, end;
  KeyRange(int64_t position, int64_t length, const AttentionRule& rule)
      : first(rule.window > 0 ? std::max<int64_t>(0, position - rule.window + 1) : 0), end(rule.causal ? position + 1 : length) {}
};

} // namespace quern::plain
