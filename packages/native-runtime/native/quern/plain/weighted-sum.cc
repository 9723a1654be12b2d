#include "quern/plain/plain.h"

namespace quern::plain {

void weighted_sum(const OpView& op) {
  const Floats x = op.floats(WeightedSumOp::X, 3), weights = op.floats(WeightedSumOp::WEIGHTS, 2), y = op.floats(WeightedSumOp::Y, 2);
  const int64_t T = x.shape[0], k = x.shape[1], D = x.width();
  op.need(weights.shape[0] == T && weights.width() == k && y.shape[0] == T && y.width() == D, "weights must be [T, k], y [T, D]");
  for (int64_t i = 0; i < y.count; i++) {
    double sum = 0;
    for (int64_t j = 0; j < k; j++) sum += double(weights.data[i / D * k + j]) * x.data[(i / D * k + j) * D + i % D];
    y.data[i] = static_cast<float>(sum);
  }
}

} // namespace quern::plain
