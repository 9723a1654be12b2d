#include "quern/plain/plain.h"

namespace quern::plain {

void clamp(const OpView& op) {
  const float low = op.number(ClampOp::LOW), high = op.number(ClampOp::HIGH);
  map(op, ClampOp::X, ClampOp::Y, [=](float x) { return x < low ? low : x > high ? high : x; });
}

} // namespace quern::plain
