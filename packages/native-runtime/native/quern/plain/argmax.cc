#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void argmax(const OpView& op) {
  const Floats x = op.floats(ArgmaxOp::X);
  int32_t* const y = op.ints_out(ArgmaxOp::Y);
  op.need(x.rank > 0 && op.operand(ArgmaxOp::Y).count == x.rows() && x.width() > 0, "y must have an element for each row");
  for (int64_t row = 0; row < x.rows(); row++) {
    float highest = -HUGE_VALF;
    y[row] = 0;
    for (int64_t i = 0; i < x.width(); i++)
      if (x.row(row)[i] > highest) highest = x.row(row)[i], y[row] = static_cast<int32_t>(i);
  }
}

} // namespace quern::plain
