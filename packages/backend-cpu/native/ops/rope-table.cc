#include <cmath>

#include "runtime/call.h"

namespace quern {

void RopeTableOp::run(Call& call) {
  const Ints positions = call.ints(POSITIONS);        // [T]
  const Floats frequencies = call.floats(FREQUENCIES, 1); // [R/2]
  const Floats table = call.floats(TABLE, 2);         // [T, R]: cosines, then sines
  const double magnitude = call.number(MAGNITUDE);
  const int64_t half = frequencies.count;
  call.need(table.shape[0] == positions.count && table.shape[1] == 2 * half, "table must be [T, R]");
  call.split(positions.count, 64 * half, [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++)
      for (int64_t i = 0; i < half; i++) {
        const double angle = static_cast<double>(positions[t]) * static_cast<double>(frequencies.data[i]);
        table.row(t)[i] = static_cast<float>(std::cos(angle) * magnitude);
        table.row(t)[half + i] = static_cast<float>(std::sin(angle) * magnitude);
      }
  });
}

} // namespace quern
