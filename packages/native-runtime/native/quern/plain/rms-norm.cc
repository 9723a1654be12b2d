#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void rms_norm(const OpView& op) {
  const Floats x = op.floats(RmsNormOp::X), y = op.floats(RmsNormOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  const float* const w = vector(op, RmsNormOp::W, x.width());
  for (int64_t row = 0; row < x.rows(); row++) {
    double squares = 0;
    for (int64_t i = 0; i < x.width(); i++) squares += double(x.row(row)[i]) * x.row(row)[i];
    const double factor = 1 / std::sqrt(squares / double(x.width()) + op.number(RmsNormOp::EPS));
    for (int64_t i = 0; i < x.width(); i++) y.row(row)[i] = static_cast<float>(x.row(row)[i] * factor * w[i]);
  }
}

} // namespace quern::plain
