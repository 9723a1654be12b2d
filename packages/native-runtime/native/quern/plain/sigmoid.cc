#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void sigmoid(const OpView& op) {
  map(op, SigmoidOp::X, SigmoidOp::Y, [](double x) { return 1 / (1 + std::exp(-x)); });
}

} // namespace quern::plain
