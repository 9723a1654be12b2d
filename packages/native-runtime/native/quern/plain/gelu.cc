#include <cmath>
#include <numbers>

#include "quern/plain/plain.h"

namespace quern::plain {

double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x * (std::numbers::sqrt2 / 2))); }

double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }

void gelu(const OpView& op) {
  map(op, GeluOp::X, GeluOp::Y, op.integer(GeluOp::FORM) == 0 ? gelu_erf : gelu_tanh);
}

} // namespace quern::plain
