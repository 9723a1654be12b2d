#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/call.h"

namespace quern {

namespace {

constexpr int64_t summed_at_once = 4096; // elements in the L1 cache
constexpr double log_of_zero = -std::numeric_limits<double>::infinity();

// ln Σ e^x of a block. The kernel's weight of the largest element is 1 / Σ e^(x − max).
double of_block(const Call& call, const float* x, float* weights, int64_t width) {
  float max;
  const int64_t largest = call.kernels.argmax(x, width, &max);
  if (max == log_of_zero) return std::any_of(x, x + width, [](float each) { return std::isnan(each); }) ? NAN : log_of_zero;
  call.kernels.softmax(x, weights, width);
  return max - std::log(static_cast<double>(weights[largest]));
}

// ln Σ e^x. NaN for a row with NaN or +∞.
double log_sum_exp(const Call& call, const float* x, float* weights, int64_t width) {
  double high = log_of_zero, sum = 0; // of the blocks so far: high + ln sum
  for (int64_t start = 0; start < width; start += summed_at_once) {
    const double part = of_block(call, x + start, weights, std::min(summed_at_once, width - start));
    if (part == log_of_zero) continue;
    const double top = std::max(high, part);
    sum = sum * std::exp(high - top) + std::exp(part - top);
    high = top;
    if (std::isnan(part)) return part;
  }
  return high + std::log(sum);
}

} // namespace

void LogProbsOp::run(Call& call) {
  const Floats x = call.floats(X, 2), y = call.floats(Y, 2); // [S, V], [S, k]
  const Ints tokens = call.ints(TOKENS);                     // [S, k], −1 is padding
  const int64_t S = x.shape[0], V = x.shape[1], k = y.shape[1];
  call.need(y.shape[0] == S && tokens.count == S * k, "tokens and y must be [S, k]");
  for (int64_t i = 0; i < tokens.count; i++)
    if (tokens[i] < -1 || tokens[i] >= V)
      call.out_of_range("tokens[%lld, %lld] is %d, but x has %lld columns", static_cast<long long>(i / k), static_cast<long long>(i % k),
                        tokens[i], static_cast<long long>(V));
  call.scratch.reserve(summed_at_once, 0);
  call.split(k == 0 ? 0 : S, 2 * std::max<int64_t>(V, 1), [&](int64_t first, int64_t end, int thread) {
    for (int64_t s = first; s < end; s++) {
      const double normaliser = log_sum_exp(call, x.row(s), call.scratch.of(thread), V);
      for (int64_t i = 0; i < k; i++) {
        const int32_t token = tokens[s * k + i];
        y.row(s)[i] = token < 0 ? static_cast<float>(log_of_zero) : static_cast<float>(x.row(s)[token] - normaliser);
      }
    }
  });
}

} // namespace quern
