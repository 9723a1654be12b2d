#include "quern/plain/plain.h"

namespace quern::plain {

void conv1d(const OpView& op) {
  const Floats x = op.floats(Conv1dOp::X, 2), y = op.floats(Conv1dOp::Y, 2);
  const float* const w = weight(op, Conv1dOp::W, 2);
  const int64_t *shape = op.operand(Conv1dOp::W).shape, N = shape[0], K = shape[1], C = x.width();
  const int64_t stride = op.integer(Conv1dOp::STRIDE), padding = op.integer(Conv1dOp::PADDING);
  const int64_t windows = C > 0 && stride > 0 ? std::max<int64_t>(-1, x.shape[0] + 2 * padding - K / C) / stride + 1 : 0;
  op.need(C > 0 && K % C == 0 && stride > 0 && padding >= 0 && y.width() == N, "w must be [N, W·C]");
  op.need(y.shape[0] <= windows, "y has more rows than there are windows");
  const float* const bias = vector(op, Conv1dOp::BIAS, N);
  std::vector<float> window(K);
  for (int64_t t = 0; t < y.shape[0]; t++) {
    for (int64_t k = 0; k < K; k++) {
      const int64_t at = (t * stride - padding) * C + k;
      window[k] = at >= 0 && at < x.count ? x.data[at] : 0;
    }
    product(window.data(), w, bias, N, K, y.row(t));
  }
}

} // namespace quern::plain
