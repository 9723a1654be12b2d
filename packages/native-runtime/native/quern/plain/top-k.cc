#include <cmath>
#include <numeric>

#include "quern/plain/plain.h"

namespace quern::plain {

void top_k(const OpView& op) {
  const Floats x = op.floats(TopKOp::X), values = op.floats(TopKOp::VALUES);
  int32_t* const indices = op.ints_out(TopKOp::INDICES);
  const int64_t k = op.integer(TopKOp::K);
  op.need(k >= 1 && k <= x.width() && values.count == x.rows() * k && op.operand(TopKOp::INDICES).count == values.count, "y must be [.., k]");
  std::vector<int32_t> order(x.width());
  for (int64_t row = 0; row < x.rows(); row++) {
    const auto value = [&](int32_t i) { return std::isnan(x.row(row)[i]) ? -HUGE_VALF : x.row(row)[i]; };
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int32_t i, int32_t j) { return value(i) != value(j) ? value(i) > value(j) : i < j; });
    for (int64_t i = 0; i < k; i++) {
      values.data[row * k + i] = value(order[i]);
      indices[row * k + i] = order[i];
    }
  }
}

} // namespace quern::plain
