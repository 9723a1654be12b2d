#include <cmath>
#include <limits>

#include "quern/plain/plain.h"

namespace quern::plain {

void log_probs(const OpView& op) {
  const Floats x = op.floats(LogProbsOp::X, 2), y = op.floats(LogProbsOp::Y, 2);
  const Ints tokens = op.ints(LogProbsOp::TOKENS);
  const int64_t S = x.shape[0], V = x.width(), k = y.width();
  op.need(y.shape[0] == S && tokens.count == S * k, "tokens and y must be [S, k]");
  for (int64_t s = 0; s < S; s++) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t v = 0; v < V; v++) max = std::fmax(max, x.row(s)[v]);
    for (int64_t v = 0; v < V; v++) sum += std::exp(x.row(s)[v] - max);
    for (int64_t i = 0; i < k; i++) {
      const int32_t token = tokens[s * k + i];
      if (token < -1 || token >= V)
        op.out_of_range("tokens[%lld, %lld] is %d, but x has %lld columns", (long long)s, (long long)i, token, (long long)V);
      y.row(s)[i] = token < 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(x.row(s)[token] - max - std::log(sum));
    }
  }
}

} // namespace quern::plain
