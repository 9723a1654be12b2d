#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void softmax(const OpView& op) {
  const Floats x = op.floats(SoftmaxOp::X), y = op.floats(SoftmaxOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  for (int64_t row = 0; row < x.rows(); row++) {
    const float* const from = x.row(row);
    double highest = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < x.width(); i++) highest = from[i] > highest || std::isnan(from[i]) ? from[i] : highest;
    for (int64_t i = 0; i < x.width(); i++) sum += std::exp(from[i] - highest);
    for (int64_t i = 0; i < x.width(); i++) y.row(row)[i] = static_cast<float>(std::exp(from[i] - highest) / sum);
  }
}

} // namespace quern::plain
