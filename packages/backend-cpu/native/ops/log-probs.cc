#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/call.h"

namespace quern {

namespace {

// max + ln Σ e^(x − max), summed in double precision. NaN for a row with NaN or +∞, or of −∞ alone.
double log_sum_exp(const Call& call, const float* x, int64_t width) {
  float max = 0;
  if (width > 0) call.kernels.argmax(x, width, &max);
  double sum = 0;
  for (int64_t i = 0; i < width; i++) sum += std::exp(static_cast<double>(x[i]) - max);
  return max + std::log(sum);
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
  call.split(k == 0 ? 0 : S, 16 * std::max<int64_t>(V, 1), [&](int64_t first, int64_t end, int) {
    for (int64_t s = first; s < end; s++) {
      const double normaliser = log_sum_exp(call, x.row(s), V);
      for (int64_t i = 0; i < k; i++) {
        const int32_t token = tokens[s * k + i];
        y.row(s)[i] = token < 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(x.row(s)[token] - normaliser);
      }
    }
  });
}

} // namespace quern
