#include <cmath>
#include <numeric>

#include "quern/plain/plain.h"

namespace quern::plain {

namespace {

constexpr int32_t no_token = -1;

struct Settings {
  double temperature, top_k, top_p, log_min_p;
};

Settings settings_of(const OpView& op, const float* row, int64_t s) {
  const Settings given = {row[0], row[1], row[2], row[3]};
  const auto& [temperature, top_k, top_p, log_min_p] = given;
  if (!(temperature >= 0 && temperature < HUGE_VAL && top_k >= 0 && top_k == std::trunc(top_k) && top_p >= 0 && top_p <= 1 && log_min_p <= 0))
    op.out_of_range("settings[%lld] must be a finite temperature from 0, a whole topK from 0, topP from 0 to 1, and a logarithm up to 0; "
                    "got %g, %g, %g, %g", (long long)s, temperature, top_k, top_p, log_min_p);
  return given;
}

// 64 random bits → a double in [0, 1) with 53 bits.
double uniform(int32_t high, int32_t low) { return ((uint32_t(high) >> 5) * 0x1p26 + (uint32_t(low) >> 6)) / 0x1p53; }

// Nucleus size: the smallest n ≥ 1 such that the first n of `ordered` have a share ≥ top_p of the probability of all.
size_t nucleus(const std::vector<int32_t>& ordered, const float* x, double highest, double top_p) {
  double total = 0, sum = 0;
  for (const int32_t i : ordered) total += std::exp(x[i] - highest);
  for (size_t i = 0; i < ordered.size(); i++)
    if ((sum += std::exp(x[ordered[i]] - highest)) >= top_p * total) return i + 1;
  return ordered.size();
}

// Tokens left by the filters, in sampling order.
std::vector<int32_t> kept(const float* x, int64_t V, double highest, const Settings& given) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < V; i++)
    if (x[i] > -HUGE_VALF) tokens.push_back(static_cast<int32_t>(i));
  if (given.top_k > 0 || given.top_p < 1) {
    std::stable_sort(tokens.begin(), tokens.end(), [&](int32_t i, int32_t j) { return x[i] > x[j]; });
    if (given.top_k > 0 && given.top_k < double(tokens.size())) tokens.resize(static_cast<size_t>(given.top_k));
    if (given.top_p < 1) tokens.resize(nucleus(tokens, x, highest, given.top_p));
  }
  std::erase_if(tokens, [&](int32_t i) { return !(x[i] >= highest + given.log_min_p); });
  return tokens;
}

int32_t token(const float* x, int64_t V, const Settings& given, double random) {
  int32_t best = 0;
  double highest = -HUGE_VAL;
  for (int64_t i = 0; i < V; i++)
    if (x[i] > highest) highest = x[i], best = static_cast<int32_t>(i);
  if (given.temperature == 0) return best;
  if (!std::isfinite(highest)) return no_token;
  const std::vector<int32_t> tokens = kept(x, V, highest, given);
  const auto weight = [&](int32_t i) { return std::exp((x[i] - highest) / given.temperature); };
  double left = random * std::accumulate(tokens.begin(), tokens.end(), 0.0, [&](double sum, int32_t i) { return sum + weight(i); });
  int32_t last = no_token;
  for (const int32_t i : tokens) {
    if (weight(i) > 0) last = i;
    if ((left -= weight(i)) < 0) break;
  }
  return last;
}

} // namespace

void sample(const OpView& op) {
  const Floats x = op.floats(SampleOp::X, 2), settings = op.floats(SampleOp::SETTINGS, 2);
  const Ints random = op.ints(SampleOp::RANDOM), draws = op.ints(SampleOp::DRAWS);
  int32_t* const y = op.ints_out(SampleOp::Y);
  const int64_t S = x.shape[0];
  op.need(settings.shape[0] == S && settings.width() == 4 && random.count % 2 == 0 && draws.count == S &&
              op.operand(SampleOp::Y).count == S && x.width() > 0, "settings must be [S, 4], random [R, 2], draws and y [S]");
  for (int64_t s = 0; s < S; s++) {
    const Settings given = settings_of(op, settings.row(s), s);
    const int32_t draw = draws[s];
    if (draw < 0 || draw >= random.count / 2)
      op.out_of_range("draws[%lld] is %d, but random has %lld rows", (long long)s, draw, (long long)(random.count / 2));
    y[s] = token(x.row(s), x.width(), given, uniform(random[2 * draw], random[2 * draw + 1]));
  }
}

} // namespace quern::plain
