#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void rope_table(const OpView& op) {
  const Ints positions = op.ints(RopeTableOp::POSITIONS);
  const Floats frequencies = op.floats(RopeTableOp::FREQUENCIES, 1), table = op.floats(RopeTableOp::TABLE, 2);
  const int64_t half = frequencies.count;
  op.need(table.shape[0] == positions.count && table.width() == 2 * half, "table must be [T, R]");
  for (int64_t t = 0; t < positions.count; t++)
    for (int64_t i = 0; i < half; i++) {
      const double angle = double(positions[t]) * frequencies.data[i], magnitude = op.number(RopeTableOp::MAGNITUDE);
      table.row(t)[i] = static_cast<float>(std::cos(angle) * magnitude);
      table.row(t)[half + i] = static_cast<float>(std::sin(angle) * magnitude);
    }
}

} // namespace quern::plain
