#include "quern/plain/plain.h"

namespace quern::plain {

void product(const float* x, const float* w, const float* bias, int64_t N, int64_t K, float* y) {
  for (int64_t n = 0; n < N; n++) {
    double sum = bias ? bias[n] : 0;
    for (int64_t k = 0; k < K; k++) sum += double(x[k]) * w[n * K + k];
    y[n] = static_cast<float>(sum);
  }
}

void linear(const OpView& op) {
  const Floats x = op.floats(LinearOp::X, 2), y = op.floats(LinearOp::Y, 2);
  const float* const w = weight(op, LinearOp::W, 2);
  const int64_t *shape = op.operand(LinearOp::W).shape, N = shape[0], K = shape[1];
  op.need(x.width() == K && y.width() == N && x.shape[0] == y.shape[0], "x must be [T, K], w [N, K], y [T, N]");
  const float* const bias = vector(op, LinearOp::BIAS, N);
  for (int64_t t = 0; t < y.shape[0]; t++) product(x.row(t), w, bias, N, K, y.row(t));
}

} // namespace quern::plain
