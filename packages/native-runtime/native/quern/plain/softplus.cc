#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void softplus(const OpView& op) {
  const Floats x = op.floats(SoftplusOp::X), y = op.floats(SoftplusOp::Y);
  const float *bias = vector(op, SoftplusOp::BIAS, x.width()), *factor = vector(op, SoftplusOp::FACTOR, x.width());
  op.need(x.same_shape(y), "y must have the shape of x");
  for (int64_t i = 0; i < x.count; i++) {
    const int64_t column = i % x.width();
    const double z = double(x.data[i]) + (bias ? bias[column] : 0);
    const double value = std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
    y.data[i] = static_cast<float>(std::isnan(z) ? z : value * (factor ? factor[column] : 1));
  }
}

} // namespace quern::plain
