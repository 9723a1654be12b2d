// Rows in which choices are delicate, and the definitions of choices in float64.
#pragma once
#include <algorithm>
#include <numeric>

#include "kernels/sample.h"
#include "test/arrays.h"

namespace quern::gpu {

inline const float nan = NAN, inf = INFINITY;

// Logits of about ±`size`, with ties, both zeros, NaN and −∞.
inline std::vector<float> rough_logits(int64_t count, uint64_t seed, float size) {
  std::vector<float> x = numbers(count, seed);
  const std::vector<float> kinds = numbers(count, seed + 1);
  for (size_t i = 0; i < x.size(); i++) {
    x[i] = kinds[i] < -0.5f ? roundf(x[i] * size) : x[i] * size;
    if (kinds[i] > 0.95f) x[i] = kinds[i] > 0.97f ? nan : -inf;
  }
  return x;
}

inline std::vector<float> repeated(const std::vector<float>& row, int64_t times) {
  std::vector<float> rows;
  for (int64_t i = 0; i < times; i++) rows.insert(rows.end(), row.begin(), row.end());
  return rows;
}

// Rows of one width, in which the order is delicate.
inline std::vector<float> delicate_rows(int width, int& rows) {
  std::vector<float> all = rough_logits(width, 5, 8);
  const auto add = [&](float a, float b) {
    for (int i = 0; i < width; i++) all.push_back(i % 3 == 1 ? a : b);
  };
  add(2, 1), add(1, 1), add(nan, nan), add(-inf, nan), add(0.f, -0.f), add(-1, nan), add(-3.4e38f, inf);
  rows = int(all.size()) / width;
  return all;
}

// The order of a row: falling, NaN as −∞, ties by index.
inline std::vector<int> order_of_row(const float* x, int width) {
  const auto value = [&](int i) { return x[i] == x[i] ? x[i] : -inf; };
  std::vector<int> order(static_cast<size_t>(width));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return value(i) > value(j); });
  return order;
}

struct SampleSettings {
  float temperature = 1, top_k = 0, top_p = 1, log_min_p = -INFINITY;
};

// The definition of sample. `p_edge` is added to top-p.
inline int right_token(const float* x, int V, const SampleSettings& given, double u, double p_edge) {
  const std::vector<int> order = order_of_row(x, V);
  const double highest = x[order[0]];
  if (given.temperature == 0) return order[0];
  if (!std::isfinite(highest)) return -1;
  std::vector<int> tokens;
  const bool ordered = given.top_k > 0 || given.top_p < 1;
  for (int i = 0; i < V; i++)
    if (const int token = ordered ? order[size_t(i)] : i; x[token] > -inf) tokens.push_back(token);
  if (given.top_k > 0 && given.top_k < float(tokens.size())) tokens.resize(size_t(given.top_k));
  if (given.top_p < 1) {
    double total = 0, sum = 0;
    size_t count = 0;
    for (const int i : tokens) total += exp(x[i] - highest);
    while (count < tokens.size() && (count == 0 || sum < (given.top_p + p_edge) * total)) sum += exp(x[tokens[count++]] - highest);
    tokens.resize(count);
  }
  std::erase_if(tokens, [&](int i) { return !(x[i] >= highest + given.log_min_p); });
  double left = 0;
  for (const int i : tokens) left += exp((x[i] - highest) / given.temperature);
  left *= u;
  int last = -1;
  for (const int i : tokens) {
    const double weight = exp((x[i] - highest) / given.temperature);
    if (weight > 0) last = i;
    if ((left -= weight) < 0) break;
  }
  return last;
}

// Draws, 64 bits each.
inline std::vector<int> random_words(int count, uint64_t seed) {
  std::vector<int> words;
  const std::vector<float> halves = numbers(4 * count, seed);
  for (size_t i = 0; i < size_t(2 * count); i++)
    words.push_back(int(unsigned((halves[2 * i] + 1) * 32768) << 16 | unsigned((halves[2 * i + 1] + 1) * 32768)));
  return words;
}

inline double uniform_of(const std::vector<int>& words, size_t draw) {
  return (double(unsigned(words[2 * draw]) >> 5) * 0x1p26 + (unsigned(words[2 * draw + 1]) >> 6)) / 0x1p53;
}

// Rows of logits, each with settings; row s takes draw S − 1 − s.
class SampleCase {
 public:
  SampleCase(int width, const std::vector<float>& logits, const std::vector<SampleSettings>& all, const std::vector<int>& random)
      : V(width), S(int(all.size())), x(logits), settings(all), words(random), input(x), given(flat(all)), numbers(words),
        draws(falling(S)), y(all.size()), fault(std::vector<int>{0, 0}) {}

  Sample args() const {
    return {input.global(), given.global(), numbers.global(), draws.global(), y.global(), V, int(words.size()) / 2, fault.global(), 4};
  }
  double u(int s) const { return uniform_of(words, size_t(S - 1 - s)); }

  // The token of the definition, or another one at an edge nearby.
  void agrees(const char* name, int threads) const {
    launched("sample", S, threads, args(), [&] { check_tokens(name); });
  }
  void check_tokens(const char* name) const {
    const std::vector<int> tokens = y.values();
    for (int s = 0; s < S; s++) {
      const int got = tokens[size_t(s)], right = token(s, 0, 0);
      bool near = got == right;
      for (const double u_edge : {-1e-6, 0.0, 1e-6})
        for (const double p_edge : {-1e-6, 0.0, 1e-6}) near = near || got == token(s, u_edge, p_edge);
      const SampleSettings& at = settings[size_t(s)];
      check(near, "%s, V %d, row %d (%g, %g, %g, %g): token %d instead of %d", name, V, s, at.temperature, at.top_k, at.top_p,
            at.log_min_p, got, right);
    }
    check(fault.values()[0] == 0, "sample: a fault");
  }

  const int V, S;
  const std::vector<float> x;
  const std::vector<SampleSettings> settings;
  const std::vector<int> words;
  const Array<float> input, given;
  const Array<int> numbers, draws, y, fault;

 private:
  int token(int s, double u_edge, double p_edge) const {
    return right_token(&x[size_t(s) * size_t(V)], V, settings[size_t(s)], std::clamp(u(s) + u_edge, 0.0, 1.0), p_edge);
  }
  static std::vector<float> flat(const std::vector<SampleSettings>& all) {
    std::vector<float> values;
    for (const SampleSettings& at : all) values.insert(values.end(), {at.temperature, at.top_k, at.top_p, at.log_min_p});
    return values;
  }
  static std::vector<int> falling(int count) {
    std::vector<int> values;
    for (int i = 0; i < count; i++) values.push_back(count - 1 - i);
    return values;
  }
};

} // namespace quern::gpu
