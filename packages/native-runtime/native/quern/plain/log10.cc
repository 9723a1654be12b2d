#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void log10(const OpView& op) {
  const double floor = op.number(Log10Op::FLOOR);
  map(op, Log10Op::X, Log10Op::Y, [floor](double x) { return std::isnan(x) ? x : std::log10(std::max(x, floor)); });
}

} // namespace quern::plain
