#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void l2_normalise(const OpView& op) {
  const Floats x = op.floats(L2NormaliseOp::X), y = op.floats(L2NormaliseOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  for (int64_t row = 0; row < x.rows(); row++) {
    double squares = 0;
    for (int64_t i = 0; i < x.width(); i++) squares += double(x.row(row)[i]) * x.row(row)[i];
    const double norm = squares == 0 ? 1 : std::sqrt(squares);
    for (int64_t i = 0; i < x.width(); i++) y.row(row)[i] = static_cast<float>(x.row(row)[i] / norm);
  }
}

} // namespace quern::plain
