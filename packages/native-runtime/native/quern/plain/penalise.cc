#include <map>

#include "quern/plain/plain.h"

namespace quern::plain {

void penalise(const OpView& op) {
  const Floats x = op.floats(PenaliseOp::X, 2), strengths = op.floats(PenaliseOp::STRENGTHS, 2), y = op.floats(PenaliseOp::Y);
  const Ints tokens = op.ints(PenaliseOp::TOKENS);
  const Operand& given = op.operand(PenaliseOp::TOKENS);
  const int64_t S = x.shape[0], V = x.width();
  op.need(x.same_shape(y) && given.rank == 2 && given.shape[0] == S && strengths.shape[0] == S && strengths.width() == 3,
          "tokens must be [S, L], strengths [S, 3], y as x");
  std::copy_n(x.data, x.count, y.data);
  for (int64_t s = 0; s < S; s++) {
    std::map<int32_t, double> counts;
    for (int64_t i = 0; i < given.shape[1]; i++) {
      const int32_t token = tokens[s * given.shape[1] + i];
      if (token < -1 || token >= V)
        op.out_of_range("tokens[%lld, %lld] is %d, but x has %lld columns", (long long)s, (long long)i, token, (long long)V);
      if (token >= 0) counts[token]++;
    }
    const double repetition = strengths.row(s)[0], presence = strengths.row(s)[1], frequency = strengths.row(s)[2];
    for (const auto& [token, n] : counts) {
      const double logit = x.row(s)[token];
      y.row(s)[token] = static_cast<float>((logit > 0 ? logit / repetition : logit * repetition) - presence - n * frequency);
    }
  }
}

} // namespace quern::plain
