#include "quern/plain/plain.h"

namespace quern::plain {

void scale(const OpView& op) {
  map(op, ScaleOp::X, ScaleOp::Y, [factor = op.number(ScaleOp::FACTOR)](float x) { return x * factor; });
}

} // namespace quern::plain
