#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void tanh(const OpView& op) {
  map(op, TanhOp::X, TanhOp::Y, [](double x) { return std::tanh(x); });
}

} // namespace quern::plain
