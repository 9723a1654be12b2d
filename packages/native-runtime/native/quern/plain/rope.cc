#include "quern/plain/plain.h"

namespace quern::plain {

void rope(const OpView& op) {
  const Floats x = op.floats(RopeOp::X, 3), table = op.floats(RopeOp::TABLE, 2), y = op.floats(RopeOp::Y, 3);
  const int64_t T = x.shape[0], H = x.shape[1], R = table.width(), half = R / 2;
  op.need(x.same_shape(y) && table.shape[0] == T && R <= x.width() && R % 2 == 0, "table must be [T, R], R at most d and even");
  const bool interleaved = op.integer(RopeOp::LAYOUT) == 0;
  for (int64_t row = 0; row < (x.count ? T * H : 0); row++) {
    const float *from = x.row(row), *angles = table.row(row / H);
    std::copy_n(from, x.width(), y.row(row));
    for (int64_t i = 0; i < half; i++) {
      const int64_t first = interleaved ? 2 * i : i, second = interleaved ? first + 1 : first + half;
      const double a = from[first], b = from[second], cos = angles[i], sin = angles[half + i];
      y.row(row)[first] = static_cast<float>(a * cos - b * sin);
      y.row(row)[second] = static_cast<float>(a * sin + b * cos);
    }
  }
}

} // namespace quern::plain
