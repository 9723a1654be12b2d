#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

double silu_of(double x) { return x / (1 + std::exp(-x)); }

void silu(const OpView& op) {
  map(op, SiluOp::X, SiluOp::Y, silu_of);
}

} // namespace quern::plain
