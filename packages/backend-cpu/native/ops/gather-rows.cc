#include <string.h>

#include "runtime/call.h"

namespace quern {

void GatherRowsOp::run(Call& call) {
  const Floats x = call.floats(X, 2); // [T, D]
  const Ints rows = call.ints(ROWS);  // [R]
  const Floats y = call.floats(Y, 2); // [R, D]
  const int64_t T = x.shape[0], D = x.shape[1];
  call.need(y.shape[0] == rows.count && y.shape[1] == D, "y must be [R, D]");
  for (int64_t r = 0; r < rows.count; r++)
    if (rows[r] < 0 || rows[r] >= T)
      call.out_of_range("rows[%lld] is %d, but x has %lld rows", static_cast<long long>(r), rows[r],
                        static_cast<long long>(T));
  call.split(rows.count, D, [&](int64_t first, int64_t end, int) {
    for (int64_t r = first; r < end; r++) memcpy(y.row(r), x.row(rows[r]), D * sizeof(float));
  });
}

} // namespace quern
